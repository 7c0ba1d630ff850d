import type { AlertBoard } from '../../../platform/alerts';
import type { Clock } from '../../../shared/clock';

const ALERT = 'ALERT_FRAUD_OVERFLOW_EXPIRED';
const KEY = 'fraud-overflow';
/** A backlog of ten thousand is one incident: a line a minute says as much, and it is over when a minute has had none. */
const QUIET_MS = 60_000;

/** Says that evaluations wait longer than they may, until they have been in time again for a minute. */
export class ExpiryAlarm {
  readonly #alerts: Pick<AlertBoard, 'raise' | 'clear'>;
  readonly #clock: Clock;
  #raisedAtMs = -Infinity;
  /** Null while nothing is wrong. */
  #lastAtMs: number | null = null;

  constructor(alerts: Pick<AlertBoard, 'raise' | 'clear'>, clock: Clock) {
    this.#alerts = alerts;
    this.#clock = clock;
  }

  tooOld(ageMs: number): void {
    const nowMs = this.#clock.now();
    this.#lastAtMs = nowMs;
    if (nowMs - this.#raisedAtMs < QUIET_MS) return;
    this.#raisedAtMs = nowMs;
    this.#alerts.raise(ALERT, 'Evaluations on fraud-overflow have waited too long and are closed as REVIEW', {
      key: KEY,
      lane: 'fraud',
      age_ms: Math.round(ageMs),
    });
  }

  /** Jobs run side by side: a young one beside an old one does not end it. */
  inTime(): void {
    if (this.#lastAtMs === null || this.#clock.now() - this.#lastAtMs < QUIET_MS) return;
    this.#lastAtMs = null;
    this.#alerts.clear(ALERT, KEY);
  }
}
