import type { Log } from './log';

/** Everything that this code base wakes a person for. A closed list, so that each one is counted from zero on. */
export const ALERTS = [
  'ALERT_BULKHEAD_ZOMBIE',
  'ALERT_BULKHEAD_STUCK',
  'ALERT_BULKHEAD_RECOVERY_LAG',
  'ALERT_OUTBOX_LAG',
  'ALERT_FRAUD_OVERFLOW_EXPIRED',
  'ALERT_TAX_COMPENSATION',
  'ALERT_UNEXPECTED_ERROR',
] as const;
export type AlertName = (typeof ALERTS)[number];

export interface Alert {
  readonly alert: AlertName;
  /** What it is about, where several of one name can be up at a time: a lane, a datasource. */
  readonly key: string;
  readonly detail: string;
  readonly firstAt: Date;
  readonly lastAt: Date;
  readonly count: number;
  /** When it was over; null while it lasts, or where nobody can tell that it is over. */
  readonly clearedAt: Date | null;
}

export interface AlertFields {
  readonly key?: string;
  readonly [name: string]: unknown;
}

const ALERTS_KEPT_MAX = 50;

/** One error-level line, one count and one entry in `/health` for each alert (contract 13). */
export class AlertBoard {
  readonly #log: Log;
  readonly #count: (alert: AlertName) => void;
  readonly #wallNow: () => Date;
  /** In order of their last occurrence. */
  readonly #alerts = new Map<string, Alert>();

  constructor(log: Log, count: (alert: AlertName) => void, wallNow: () => Date = () => new Date()) {
    this.#log = log;
    this.#count = count;
    this.#wallNow = wallNow;
  }

  /** @param fields for the log line; `key` tells alerts of one name apart. */
  raise(alert: AlertName, detail: string, fields: AlertFields = {}): void {
    const { key = '', ...logged } = fields;
    const id = `${alert}\n${key}`;
    const known = this.#alerts.get(id);
    const now = this.#wallNow();
    this.#alerts.delete(id);
    const again = known !== undefined && known.clearedAt === null;
    this.#alerts.set(id, {
      alert,
      key,
      detail,
      firstAt: again ? known.firstAt : now,
      lastAt: now,
      count: again ? known.count + 1 : 1,
      clearedAt: null,
    });
    if (this.#alerts.size > ALERTS_KEPT_MAX) {
      const [oldest] = this.#alerts.keys();
      if (oldest !== undefined) this.#alerts.delete(oldest);
    }
    this.#count(alert);
    this.#log.error({ alert, ...(key === '' ? {} : { key }), ...logged }, detail);
  }

  /** Says that what was alerted is over. It stays on the board, as past. */
  clear(alert: AlertName, key = ''): void {
    const id = `${alert}\n${key}`;
    const known = this.#alerts.get(id);
    if (known === undefined || known.clearedAt !== null) return;
    this.#alerts.set(id, { ...known, clearedAt: this.#wallNow() });
    this.#log.info({ alert, ...(key === '' ? {} : { key }), cleared: true }, `over: ${known.detail}`);
  }

  /** The latest first. */
  latest(): readonly Alert[] {
    return [...this.#alerts.values()].reverse();
  }
}
