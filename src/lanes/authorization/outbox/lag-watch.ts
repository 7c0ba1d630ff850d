import type { AlertBoard } from '../../../platform/alerts';
import type { Clock } from '../../../shared/clock';

const ALERT = 'ALERT_OUTBOX_LAG';

export interface LagWatchOptions {
  readonly clock: Clock;
  readonly alerts: Pick<AlertBoard, 'raise' | 'clear'>;
  /** The oldest unpublished row is older than this: alert. */
  readonly lagMsMax: number;
}

/** Raises `ALERT_OUTBOX_LAG` once while the outbox lags, and says when it is over. */
export class LagWatch {
  readonly #options: LagWatchOptions;
  /** When the oldest row was written, by the process's clock; null where nothing waits. */
  #oldestAtMs: number | null = null;
  #raised = false;

  constructor(options: LagWatchOptions) {
    this.#options = options;
  }

  /** Milliseconds that the oldest row has waited by now; 0 where none does. */
  get lagMs(): number {
    return this.#oldestAtMs === null ? 0 : Math.max(0, this.#options.clock.now() - this.#oldestAtMs);
  }

  observe(oldestMs: number | null): void {
    this.#oldestAtMs = oldestMs === null ? null : this.#options.clock.now() - oldestMs;
  }

  check(): void {
    const { alerts, lagMsMax } = this.#options;
    const lags = this.lagMs > lagMsMax;
    if (lags === this.#raised) return;
    this.#raised = lags;
    if (!lags) {
      alerts.clear(ALERT);
      return;
    }
    alerts.raise(
      ALERT,
      `captures and refunds have been waiting for longer than ${lagMsMax / 1_000} s to be told to the ledger`,
      { lane: 'authorization', lag_ms: Math.round(this.lagMs) },
    );
  }
}
