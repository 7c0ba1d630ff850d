import type { AlertBoard } from '../../../platform/alerts';
import type { Clock } from '../../../shared/clock';

const ALERT = 'ALERT_FRAUD_OVERFLOW_EXPIRED';
/** A backlog of ten thousand is one incident: a line a minute says as much. */
const QUIET_MS = 60_000;

/** Says that evaluations wait longer than they may, from the first that is seen to until one is in time again. */
export class ExpiryAlarm {
  readonly #alerts: Pick<AlertBoard, 'raise' | 'clear'>;
  readonly #clock: Clock;
  #quietUntilMs = -Infinity;
  #up = false;

  constructor(alerts: Pick<AlertBoard, 'raise' | 'clear'>, clock: Clock) {
    this.#alerts = alerts;
    this.#clock = clock;
  }

  tooOld(ageMs: number): void {
    this.#up = true;
    const nowMs = this.#clock.now();
    if (nowMs < this.#quietUntilMs) return;
    this.#quietUntilMs = nowMs + QUIET_MS;
    this.#alerts.raise(ALERT, 'Evaluations on fraud-overflow have waited too long and are closed as REVIEW', {
      key: 'fraud-overflow',
      lane: 'fraud',
      age_ms: Math.round(ageMs),
    });
  }

  inTime(): void {
    if (!this.#up) return;
    this.#up = false;
    this.#quietUntilMs = -Infinity;
    this.#alerts.clear(ALERT, 'fraud-overflow');
  }
}
