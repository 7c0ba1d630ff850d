import fc from 'fast-check';
import { FakeClock } from '../../../../test/support/fake-clock';
import { Bulkhead } from '../../../bulkhead/bulkhead';
import { edgeProblems } from '../../../ingress/problems';
import { queueProblems } from '../../../platform/queue/queue.problems';
import { PaymentError } from '../../../shared/problem';
import type { EvaluationTask, Evaluator, Verdict } from '../fraud';
import { BackgroundPermits } from './background-permits';
import { ExpiryAlarm } from './expiry-alarm';
import { FailureBackOff } from './failure-back-off';
import { FraudOverflow, type OverflowQueue } from './fraud-overflow';
import { evaluationTaskOf, type OverflowJob, type OverflowResult } from './overflow-job';
import { OverflowRunner } from './overflow-runner';

/*
 * Requests, workers, crashes and a Redis that comes and goes, in any order: whatever was answered 202 ends with exactly
 * one result, which is the one that everybody sees. The queue and the database are models of what the real ones promise
 * (one job per id, one row per id), and each promise that is broken on purpose is found out.
 */

const KEYS = 3;
const PAYLOADS = 2;

type Redis = 'there' | 'away' | 'deaf';

interface StoredJob {
  readonly id: string;
  readonly data: OverflowJob;
  readonly timestamp: number;
  state: 'waiting' | 'done';
  returnvalue: OverflowResult | null;
  finishedOn?: number;
}

function taskOf(key: number, payload: number): EvaluationTask {
  return {
    id: `evl_${String(key).padStart(26, '0')}`,
    caller: 'checkout',
    payloadHash: Buffer.alloc(32, payload + 1),
    request: {
      merchantId: 'mer_1',
      cardFingerprint: 'ab'.repeat(32),
      amountMinor: 100 + payload,
      currency: 'USD',
      country: 'US',
      occurredAt: new Date(0),
    },
  };
}

/** One job per id. `deaf`: what is sent takes effect, and the sender never hears of it. */
class ModelQueue {
  readonly jobs = new Map<string, StoredJob>();
  redis: Redis = 'there';

  readonly enqueueOnce = async (_name: string, data: OverflowJob, { jobId }: { jobId: string }) => {
    this.#requireRedis();
    const known = this.jobs.get(jobId);
    const job = known ?? { id: jobId, data, timestamp: 0, state: 'waiting', returnvalue: null };
    this.jobs.set(jobId, job);
    await Promise.resolve();
    if (this.redis === 'deaf') throw new PaymentError(queueProblems.unavailable, 'no answer');
    return { job, added: known === undefined };
  };

  readonly find = async (jobId: string) => {
    this.#requireRedis();
    await Promise.resolve();
    if (this.redis === 'deaf') throw new PaymentError(queueProblems.unavailable, 'no answer');
    return this.jobs.get(jobId) ?? null;
  };

  asQueue(): OverflowQueue {
    return this as unknown as OverflowQueue;
  }

  #requireRedis(): void {
    if (this.redis === 'away') throw new PaymentError(queueProblems.unavailable, 'not connected');
  }
}

/** One row per id, as the unique key has it; each verdict is another, so that two are told apart. */
class ModelDatabase implements Evaluator {
  readonly rows = new Map<string, { readonly verdict: Verdict; readonly payloadHash: Buffer }>();
  /** Rows ever written for an id. */
  readonly written = new Map<string, number>();

  constructor(private readonly hasNoUniqueKey: boolean) {}

  evaluate(task: EvaluationTask) {
    return this.#store(task, { score: this.written.size, decision: 'APPROVE', reasons: [] });
  }

  close(task: EvaluationTask, verdict: Verdict) {
    return this.#store(task, verdict);
  }

  async #store(task: EvaluationTask, verdict: Verdict) {
    await Promise.resolve();
    const known = this.hasNoUniqueKey ? undefined : this.rows.get(task.id);
    if (known !== undefined && !known.payloadHash.equals(task.payloadHash)) {
      throw new PaymentError(edgeProblems.idempotencyKeyReused, 'another payload');
    }
    if (known === undefined) {
      this.rows.set(task.id, { verdict, payloadHash: task.payloadHash });
      this.written.set(task.id, (this.written.get(task.id) ?? 0) + 1);
    }
    const kept = known?.verdict ?? verdict;
    const { id, caller, request } = task;
    const answer = { id, caller, merchantId: request.merchantId, status: 'COMPLETED' as const, ...kept };
    return { answer, replayed: known !== undefined };
  }
}

interface Faults {
  readonly forgetsOnRestart?: boolean;
  readonly hasNoUniqueKey?: boolean;
  readonly losesJobsOnCrash?: boolean;
}

class World {
  readonly queue = new ModelQueue();
  readonly database: ModelDatabase;
  /** Ids that were answered 200 or 202. */
  readonly promised = new Set<string>();
  overflow: FraudOverflow;
  readonly runner: OverflowRunner;
  readonly #losesJobsOnCrash: boolean;
  readonly #forgetsOnRestart: boolean;
  /** The process has begun while nobody could tell what waits. */
  #blind = false;

  constructor({ hasNoUniqueKey = false, losesJobsOnCrash = false, forgetsOnRestart = false }: Faults) {
    this.#forgetsOnRestart = forgetsOnRestart;
    this.database = new ModelDatabase(hasNoUniqueKey);
    this.#losesJobsOnCrash = losesJobsOnCrash;
    this.overflow = this.#openOverflow();
    const clock = new FakeClock();
    // More than work at once here: the wait for a permit has tests of its own.
    const limits = { name: 'b', permits: 20, queueMax: 0, queueWaitMsMax: 0, executionMsMax: 10_000 };
    const bulkhead = new Bulkhead({ ...limits, background: { permitsMax: 10, inUseMax: 10 } }, clock);
    this.runner = new OverflowRunner({
      permits: new BackgroundPermits(bulkhead, clock),
      evaluator: this.database,
      alarm: new ExpiryAlarm({ raise: () => undefined, clear: () => undefined }, clock),
      backOff: new FailureBackOff(clock),
      ageMsMax: 1,
      wallNow: () => 0,
      onFinished: () => undefined,
    });
  }

  /** A request that found the lane full. */
  async overflowed(key: number, payload: number): Promise<void> {
    const task = taskOf(key, payload);
    try {
      await this.overflow.accept(task);
      this.promised.add(task.id);
    } catch (error) {
      requireRefusal(error);
    }
  }

  /** A request that found room. */
  async admitted(key: number, payload: number, declaredRetry: boolean): Promise<void> {
    const task = taskOf(key, payload);
    try {
      const waitedBefore = this.#waits(task);
      if ((await this.overflow.waiting(task, declaredRetry)) === null) {
        if (waitedBefore && this.#waits(task)) throw new Error(`${task.id} waits and was not answered "later"`);
        await this.database.evaluate(task);
      }
      this.promised.add(task.id);
    } catch (error) {
      requireRefusal(error);
    }
  }

  /** The oldest job; `crash`: the process dies after the effect and before the queue is told. */
  async worked(crash: boolean): Promise<void> {
    const job = [...this.queue.jobs.values()].find(({ state }) => state === 'waiting');
    if (job === undefined || this.queue.redis === 'away') return;
    const task = evaluationTaskOf(job.id, job.data);
    if (task === null) throw new Error('A job that cannot be read');
    if (crash && this.#losesJobsOnCrash) {
      this.queue.jobs.delete(job.id);
      return;
    }
    const result = await this.runner.run(task, 0);
    if (crash) return;
    job.returnvalue = result;
    job.state = 'done';
    job.finishedOn = 1;
  }

  /** What a process remembers goes with it; the next one looks at the queue before it serves. */
  restarted(): void {
    this.overflow = this.#openOverflow();
    this.#blind = this.queue.redis !== 'there';
    if (!this.#blind && !this.#forgetsOnRestart) this.overflow.remember(this.queue.jobs.keys());
  }

  /** Whether the process can know that an evaluation is on the overflow. */
  #waits({ id }: EvaluationTask): boolean {
    return !this.#blind && this.queue.redis === 'there' && this.queue.jobs.get(id)?.state === 'waiting';
  }

  async expectOneResultEach(): Promise<void> {
    this.queue.redis = 'there';
    for (let turn = 0; turn <= KEYS; turn += 1) await this.worked(false);
    for (const id of this.promised) {
      const row = this.database.rows.get(id);
      if (row === undefined) throw new Error(`${id} was promised and has no result`);
      if (this.database.written.get(id) !== 1) throw new Error(`${id} has ${this.database.written.get(id)} results`);
      const found = await this.overflow.find(id);
      if (found?.status === 'QUEUED') throw new Error(`${id} still waits`);
      if (found?.status === 'COMPLETED' && found.score !== row.verdict.score) throw new Error(`${id} has two results`);
    }
  }

  #openOverflow(): FraudOverflow {
    return new FraudOverflow({ queue: this.queue.asQueue(), observer: { onAccepted: () => undefined }, now: () => 0 });
  }
}

function requireRefusal(error: unknown): void {
  const codes: readonly string[] = ['ERR_FRAUD_OVERFLOW_UNAVAILABLE', 'ERR_IDEMPOTENCY_KEY_REUSED'];
  if (!(error instanceof PaymentError) || !codes.includes(error.code)) throw error;
}

const key = fc.nat({ max: KEYS - 1 });
const payload = fc.nat({ max: PAYLOADS - 1 });
type Step = (world: World) => Promise<void> | void;
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(key, payload).map(
      ([k, p]): Step =>
        (world) =>
          world.overflowed(k, p),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(key, payload, fc.boolean()).map(
      ([k, p, retry]): Step =>
        (world) =>
          world.admitted(k, p, retry),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.boolean().map(
      (crash): Step =>
        (world) =>
          world.worked(crash),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Redis>('there', 'away', 'deaf').map(
      (redis): Step =>
        (world) =>
          void (world.queue.redis = redis),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>((world) => world.restarted()) },
);

/** Steps of a round happen at once, rounds one after another. */
function property(faults: Faults) {
  return fc.asyncProperty(
    fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 12 }),
    async (rounds) => {
      const world = new World(faults);
      for (const round of rounds) await Promise.all(round.map(async (each) => each(world)));
      await world.expectOneResultEach();
    },
  );
}

const options = { numRuns: 500, seed: 20_261_130, endOnFailure: true };

describe('whatever was accepted', () => {
  it('ends with exactly one result, in any order of requests, workers, crashes and losses of Redis', async () => {
    await fc.assert(property({}), options);
  });

  it.each<Faults>([{ hasNoUniqueKey: true }, { losesJobsOnCrash: true }, { forgetsOnRestart: true }])(
    'would not, and this would find it, with the planted fault %j',
    async (faults) => {
      const { failed } = await fc.check(property(faults), options);
      expect(failed).toBe(true);
    },
  );
});
