import type { LaneStore, StatementRunner } from '../../platform/database/statement';
import { parsePublicId } from '../../shared/public-id';
import { evaluationFailureOf } from './evaluation-failure';
import { EVALUATION_PREFIX } from './evaluation-task';
import type { CompletedEvaluation, Decision, EvaluationTask, FraudRequest, Reason, Verdict } from './fraud';
import { findEvaluation, lockCard, readFacts, rollAttempts, rollGeneration, storeEvaluation } from './fraud.statements';
import type { Facts, Risk } from './rules/facts';

const HOUR_MS = 3_600_000;

/** A card as it was when facts were read; null for one that nobody has seen. */
export interface KnownCard {
  readonly id: string;
  readonly version: string;
}

export interface StoredEvaluation {
  readonly evaluation: CompletedEvaluation;
  readonly payloadHash: Buffer;
}

/** What is known before an evaluation: its own result, where there is one already, or what to judge it by. */
export interface Read {
  readonly stored: StoredEvaluation | null;
  readonly card: KnownCard | null;
  readonly facts: Facts;
}

/** `outdated`: the card was used since its facts were read. */
export type StoreOutcome = 'stored' | 'key_taken' | 'outdated';

/** What an evaluation is made with. */
export interface EvaluationStore {
  read(task: EvaluationTask): Promise<Read>;
  /** @param card as {@link read} found it. */
  write(task: EvaluationTask, card: KnownCard | null, verdict: Verdict): Promise<StoreOutcome>;
}

interface StoredRow {
  readonly caller: string;
  readonly merchant_id: string;
  readonly payload_hash: Buffer;
  readonly score: number;
  readonly decision: Decision;
  readonly reasons: readonly Reason[];
}

interface FactsRow {
  readonly card_id: string | null;
  readonly card_version: string | null;
  readonly first_seen_at: Date | null;
  readonly merchant_risk: Risk;
  readonly country_risk: Risk;
  readonly attempts_5m: number;
  readonly attempts_1h: number;
  readonly attempts_24h: number;
  readonly declines_24h: number;
  readonly merchants_1h: number;
  readonly countries_24h: number;
  readonly here: number;
  readonly samples: number;
  readonly usual_minor: number | null;
}

/** Evaluations and the history of cards in `fraud_ds`. */
export class FraudRepository implements EvaluationStore {
  constructor(
    private readonly store: LaneStore,
    /** SHA-256 of the rules that this process judges by. */
    private readonly rulesHash: Buffer,
  ) {}

  read(task: EvaluationTask): Promise<Read> {
    return told(this.#read(this.store, task));
  }

  write(task: EvaluationTask, card: KnownCard | null, verdict: Verdict): Promise<StoreOutcome> {
    return told(this.#write(this.store, task, card, verdict));
  }

  /**
   * Runs `work` in one transaction that has the card, where it is known, from its beginning: nobody else stores an
   * evaluation of it meanwhile.
   */
  holdingCard<Result>(cardFingerprint: string, work: (store: EvaluationStore) => Promise<Result>): Promise<Result> {
    const held = this.store.transaction(async (connection) => {
      await connection.query(lockCard, [Buffer.from(cardFingerprint, 'hex')]);
      return work({
        read: (task) => this.#read(connection, task),
        write: (task, card, verdict) => this.#write(connection, task, card, verdict),
      });
    });
    return told(held);
  }

  async #read(runner: StatementRunner, task: EvaluationTask): Promise<Read> {
    const { merchantId, cardFingerprint, country, currency, occurredAt } = task.request;
    const [row] = await runner.query<FactsRow & (StoredRow | Record<keyof StoredRow, null>)>(readFacts, [
      rowIdOf(task.id),
      Buffer.from(cardFingerprint, 'hex'),
      merchantId,
      country,
      currency,
      occurredAt,
    ]);
    if (row === undefined) throw new Error('The facts have no row');
    return {
      stored: row.caller === null ? null : storedOf(task.id, row),
      card: row.card_id === null || row.card_version === null ? null : { id: row.card_id, version: row.card_version },
      facts: factsOf(row, task.request),
    };
  }

  async #write(
    runner: StatementRunner,
    task: EvaluationTask,
    card: KnownCard | null,
    verdict: Verdict,
  ): Promise<StoreOutcome> {
    const { request } = task;
    const [row] = await runner.query<{ card_kept: boolean; stored: boolean }>(storeEvaluation, [
      rowIdOf(task.id),
      task.caller,
      task.payloadHash,
      Buffer.from(request.cardFingerprint, 'hex'),
      card?.id ?? null,
      card?.version ?? null,
      request.occurredAt,
      request.amountMinor,
      request.currency,
      request.country,
      request.merchantId,
      verdict.score,
      verdict.decision,
      JSON.stringify(verdict.reasons),
      this.rulesHash,
    ]);
    if (row?.stored) return 'stored';
    return row?.card_kept ? 'key_taken' : 'outdated';
  }

  /** Null for an id that has no result, be it unknown, waiting, or older than results are kept. */
  async find(id: string): Promise<CompletedEvaluation | null> {
    const rowId = parsePublicId(EVALUATION_PREFIX, id);
    if (rowId === null) return null;
    const [row] = await told(this.store.query<StoredRow>(findEvaluation, [rowId]));
    return row === undefined ? null : storedOf(id, row).evaluation;
  }

  /** @returns the new generation's number; null where the current one is younger than `ageMinHours`. */
  async rollGeneration(ageMinHours: number): Promise<number | null> {
    const [row] = await this.store.query<{ generation: number | null }>(rollGeneration, [`${ageMinHours} hours`]);
    return row?.generation ?? null;
  }

  /** @returns how many weeks of history were made or dropped; null for none. */
  async rollAttempts(): Promise<number | null> {
    const [row] = await this.store.query<{ weeks: number | null }>(rollAttempts, []);
    return row?.weeks ?? null;
  }
}

/** @throws what callers are told of a failure of the database. */
async function told<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw evaluationFailureOf(error);
  }
}

function rowIdOf(id: string): string {
  const rowId = parsePublicId(EVALUATION_PREFIX, id);
  if (rowId === null) throw new Error(`Not the id of an evaluation: ${id}`);
  return rowId;
}

function storedOf(id: string, row: StoredRow): StoredEvaluation {
  const { caller, score, decision, reasons } = row;
  return {
    evaluation: { id, status: 'COMPLETED', caller, merchantId: row.merchant_id, score, decision, reasons },
    payloadHash: row.payload_hash,
  };
}

function factsOf(row: FactsRow, { amountMinor, currency, country, occurredAt }: FraudRequest): Facts {
  const ageMs = row.first_seen_at === null ? 0 : occurredAt.getTime() - row.first_seen_at.getTime();
  const { usual_minor: usualMinor } = row;
  return {
    amount_minor: amountMinor,
    currency,
    country,
    country_risk: row.country_risk,
    merchant_risk: row.merchant_risk,
    card_new: row.card_id === null,
    // A payment that is told late may be older than the card's first one: then the card is new to it.
    card_age_hours: Math.max(0, ageMs / HOUR_MS),
    card_attempts_5m: row.attempts_5m,
    card_attempts_1h: row.attempts_1h,
    card_attempts_24h: row.attempts_24h,
    card_declines_24h: row.declines_24h,
    card_merchants_1h: row.merchants_1h,
    card_countries_24h: row.countries_24h,
    country_new: row.card_id !== null && row.here === 0,
    amount_samples: row.samples,
    amount_to_usual: usualMinor === null ? 0 : amountMinor / usualMinor,
  };
}
