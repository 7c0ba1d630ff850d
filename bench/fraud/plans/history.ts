import { hash } from 'node:crypto';
import type { ClientBase } from 'pg';

export interface HistoryOptions {
  readonly cards: number;
  /** Spread evenly over the cards and over {@link days}. */
  readonly attempts: number;
  readonly days: number;
  /** Attempts of the first card in the last day, beside its share of the others. */
  readonly busyAttempts: number;
}

/** Rows of one INSERT: each is a transaction of some seconds, so that an interrupted run loses little. */
const ROWS_PER_STATEMENT = 500_000;

/**
 * Fills the history as years of the lane would, by set: card n has the fingerprint SHA-256 of "card n". The client is
 * one of the lane's owner, since the running lane may not make weeks of the past.
 *
 * @returns the row id of card 1; the others follow.
 */
export async function loadHistory(client: ClientBase, options: HistoryOptions): Promise<number> {
  const { cards, attempts, days, busyAttempts } = options;
  await makeWeeks(client, days);
  await client.query(
    `INSERT INTO cards (fingerprint, first_seen_at, version)
     SELECT sha256(('card ' || n)::bytea), now() - $2 * interval '1 day', 1 FROM generate_series(1, $1::integer) n`,
    [cards, days],
  );
  const { rows } = await client.query<{ first: string }>(`SELECT id AS first FROM cards WHERE fingerprint = $1`, [
    fingerprintOfCard(1),
  ]);
  const firstId = Number(rows[0]?.first);
  for (let from = 0; from < attempts; from += ROWS_PER_STATEMENT) {
    const to = Math.min(attempts, from + ROWS_PER_STATEMENT) - 1;
    await insertAttempts(client, [firstId, cards, days / attempts, from, to]);
  }
  if (busyAttempts > 0) await insertAttempts(client, [firstId, 1, 1 / busyAttempts, 0, busyAttempts - 1]);
  await client.query(`ANALYZE cards, attempts`);
  return firstId;
}

/** Parameters: first card's id, number of cards, days between two attempts, first and last number of an attempt. */
async function insertAttempts(client: ClientBase, values: readonly number[]): Promise<void> {
  await client.query(
    `INSERT INTO attempts (card_id, occurred_at, amount_minor, currency, country, merchant_id, decision, evaluation_id)
     SELECT $1::bigint + n % $2::integer, now() - n * $3::double precision * interval '1 day', 100 + n % 900,
       CASE n % 5 WHEN 0 THEN 'EUR' ELSE 'USD' END, CASE n % 7 WHEN 0 THEN 'FR' ELSE 'US' END,
       'mer_demo_' || lpad((1 + n % 50)::text, 4, '0'), CASE n % 11 WHEN 0 THEN 'DECLINE' ELSE 'APPROVE' END,
       gen_random_uuid()
     FROM generate_series($4::integer, $5::integer) n`,
    values as number[],
  );
}

/** The weeks that the lane made when they were the present. */
async function makeWeeks(client: ClientBase, days: number): Promise<void> {
  await client.query(`SET timezone = 'UTC'`);
  const { rows } = await client.query<{ name: string; from: string; to: string }>(
    `SELECT 'attempts_' || to_char(week, 'YYYYMMDD') AS name, week::date::text AS from, (week::date + 7)::text AS to
     FROM generate_series(date_trunc('week', now() - $1 * interval '1 day'), now(), interval '7 days') week
     WHERE to_regclass('attempts_' || to_char(week, 'YYYYMMDD')) IS NULL`,
    [days],
  );
  for (const { name, from, to } of rows) {
    await client.query(`CREATE TABLE ${name} PARTITION OF attempts FOR VALUES FROM ('${from}') TO ('${to}')`);
  }
}

/** As {@link loadHistory} makes it. */
export function fingerprintOfCard(number: number): Buffer {
  return hash('sha256', `card ${number}`, 'buffer');
}
