import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { AlertBoard } from '../../../platform/alerts';
import type { DependencyHealth } from '../../../platform/lane-registry';
import type { Clock, TimerHandle } from '../../../shared/clock';
import type { Verification } from './verify-compensation';

const DAY_MS = 24 * 60 * 60 * 1_000;
/** Time enough to look up what changed and to certify again (contract 10). */
export const ALERT_AHEAD_DAYS = 14;

const ALERT = 'ALERT_TAX_COMPENSATION';

/** How a certificate stands on a date. */
export type CertificateStanding = 'valid' | 'expiring' | 'expired';

export function standingOf(expiresAt: string, nowMs: number): CertificateStanding {
  const leftMs = Date.parse(expiresAt) - nowMs;
  if (leftMs <= 0) return 'expired';
  return leftMs <= ALERT_AHEAD_DAYS * DAY_MS ? 'expiring' : 'valid';
}

interface CertificateWatchOptions {
  readonly clock: Clock;
  readonly alerts: Pick<AlertBoard, 'raise'>;
  readonly wallNowMs: () => number;
}

/**
 * Tells of a certificate that is about to end, or that never was: by an alert a day, and in the lane's health, where it is
 * `degraded`. It stops nothing, since cards and the provider's own answers do not depend on it.
 */
export class CertificateWatch implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #verification: Verification;
  readonly #options: CertificateWatchOptions;
  #timer: TimerHandle | null = null;

  constructor(verification: Verification, options: CertificateWatchOptions) {
    this.#verification = verification;
    this.#options = options;
  }

  onApplicationBootstrap(): void {
    this.#look();
  }

  beforeApplicationShutdown(): void {
    if (this.#timer !== null) this.#options.clock.cancel(this.#timer);
    this.#timer = null;
  }

  health(): DependencyHealth {
    const name = 'tax_compensation';
    const trouble = this.#trouble();
    return trouble === null ? { name, status: 'up' } : { name, status: 'degraded', detail: trouble };
  }

  #look(): void {
    const trouble = this.#trouble() ?? this.#warning();
    if (trouble !== null) this.#options.alerts.raise(ALERT, trouble);
    this.#timer = this.#options.clock.schedule(() => this.#look(), DAY_MS);
  }

  /** Why there are no estimates; null while there are. */
  #trouble(): string | null {
    const verification = this.#verification;
    if (!verification.accepted) return verification.rejection;
    const { id, expires_at: expiresAt } = verification.certificate;
    if (this.#standing(expiresAt) !== 'expired') return null;
    return `The certificate ${id} expired at ${expiresAt}, so no estimates are made: certify again`;
  }

  #warning(): string | null {
    if (!this.#verification.accepted) return null;
    const { id, expires_at: expiresAt, expires_because: because } = this.#verification.certificate;
    if (this.#standing(expiresAt) !== 'expiring') return null;
    return `The certificate ${id} expires at ${expiresAt} (${because}): certify again before then`;
  }

  #standing(expiresAt: string): CertificateStanding {
    return standingOf(expiresAt, this.#options.wallNowMs());
  }
}
