import { FakeClock } from '../../../../test/support/fake-clock';
import { Bulkhead } from '../../../bulkhead/bulkhead';
import { edgeProblems } from '../../../ingress/problems';
import { PaymentError } from '../../../shared/problem';
import type { EvaluationTask, Evaluator, Verdict } from '../fraud';
import { BackgroundPermits } from './background-permits';
import { ExpiryAlarm } from './expiry-alarm';
import { FailureBackOff } from './failure-back-off';
import { OverflowRunner } from './overflow-runner';

const AGE_MS_MAX = 900_000;
const QUEUED_AT_MS = 1_796_000_000_000;
const verdict: Verdict = { score: 12, decision: 'APPROVE', reasons: [] };
const task: EvaluationTask = {
  id: 'evl_1',
  caller: 'checkout',
  payloadHash: Buffer.alloc(32, 1),
  request: {
    merchantId: 'mer_1',
    cardFingerprint: 'ab'.repeat(32),
    amountMinor: 100,
    currency: 'USD',
    country: 'US',
    occurredAt: new Date(QUEUED_AT_MS),
  },
};

/** Keeps the first verdict of each id, as the unique key in the database does. */
class KeepingEvaluator implements Evaluator {
  readonly kept = new Map<string, Verdict>();
  readonly calls: string[] = [];
  failure: Error | null = null;

  evaluate(asked: EvaluationTask) {
    return this.#keep('evaluate', asked, verdict);
  }

  close(asked: EvaluationTask, closing: Verdict) {
    return this.#keep('close', asked, closing);
  }

  async #keep(call: string, { id, caller, request }: EvaluationTask, given: Verdict) {
    this.calls.push(call);
    if (this.failure !== null) throw this.failure;
    const replayed = this.kept.has(id);
    const kept = this.kept.get(id) ?? given;
    this.kept.set(id, kept);
    const answer = { id, caller, merchantId: request.merchantId, status: 'COMPLETED' as const, ...kept };
    return { answer, replayed };
  }
}

function open() {
  const clock = new FakeClock();
  const limits = { name: 'b', permits: 4, queueMax: 0, queueWaitMsMax: 0, executionMsMax: 10_000 };
  const bulkhead = new Bulkhead({ ...limits, background: { permitsMax: 2, inUseMax: 2 } }, clock);
  const evaluator = new KeepingEvaluator();
  const alerts: string[] = [];
  const finished: [string, number][] = [];
  const wall = { nowMs: QUEUED_AT_MS };
  const runner = new OverflowRunner({
    permits: new BackgroundPermits(bulkhead, clock),
    evaluator,
    alarm: new ExpiryAlarm(
      { raise: (alert) => void alerts.push(`raise ${alert}`), clear: (alert) => void alerts.push(`clear ${alert}`) },
      clock,
    ),
    backOff: new FailureBackOff(clock),
    ageMsMax: AGE_MS_MAX,
    wallNow: () => wall.nowMs,
    onFinished: (outcome, ageMs) => finished.push([outcome, ageMs]),
  });
  return { clock, bulkhead, evaluator, runner, alerts, finished, wall };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a job of the overflow', () => {
  it.each([
    [AGE_MS_MAX - 1, 'evaluated'],
    [AGE_MS_MAX, 'evaluated'],
    [AGE_MS_MAX + 1, 'expired'],
  ])('that is %i ms old is %s', async (ageMs, outcome) => {
    const { runner, wall, finished, evaluator } = open();
    wall.nowMs += ageMs;
    expect(await runner.run(task, QUEUED_AT_MS)).toMatchObject({ outcome });
    expect(finished).toEqual([[outcome, ageMs]]);
    expect(evaluator.calls).toEqual([outcome === 'expired' ? 'close' : 'evaluate']);
  });

  it('that is closed says REVIEW and why', async () => {
    const { runner, wall } = open();
    wall.nowMs += AGE_MS_MAX + 1;
    expect(await runner.run(task, QUEUED_AT_MS)).toMatchObject({
      decision: 'REVIEW',
      reasons: [{ rule: 'overflow_expired', points: 0 }],
    });
  });

  it('that is closed raises an alert, once a minute for a whole backlog, over when a minute was in time', async () => {
    const { runner, wall, alerts, clock } = open();
    wall.nowMs += AGE_MS_MAX + 1;
    let count = 0;
    const old = () => runner.run({ ...task, id: `evl_${(count += 1)}` }, QUEUED_AT_MS);
    const young = () => runner.run({ ...task, id: `evl_${(count += 1)}` }, wall.nowMs);
    await young();
    await old();
    await young();
    await old();
    clock.advance(59_999);
    await old();
    expect(alerts).toEqual(['raise ALERT_FRAUD_OVERFLOW_EXPIRED']);
    clock.advance(1);
    await old();
    expect(alerts.slice(1)).toEqual(['raise ALERT_FRAUD_OVERFLOW_EXPIRED']);
    clock.advance(59_999);
    await young();
    expect(alerts.slice(2)).toEqual([]);
    clock.advance(1);
    await young();
    await young();
    expect(alerts.slice(2)).toEqual(['clear ALERT_FRAUD_OVERFLOW_EXPIRED']);
  });

  it('that grows too old while the lane has no permit is told of at once, and closed when there is one', async () => {
    const { runner, wall, alerts, clock, bulkhead, evaluator } = open();
    const callers = [bulkhead.tryAcquire(), bulkhead.tryAcquire()];
    wall.nowMs += AGE_MS_MAX;
    const running = runner.run(task, QUEUED_AT_MS);
    await settle();
    expect(alerts).toEqual([]);
    wall.nowMs += 1;
    clock.advance(100);
    await settle();
    expect(alerts).toEqual(['raise ALERT_FRAUD_OVERFLOW_EXPIRED']);
    expect(evaluator.calls).toEqual([]);
    for (const permit of callers) if (typeof permit !== 'string') permit.release();
    clock.advance(100);
    expect(await running).toMatchObject({ outcome: 'expired' });
  });

  it('that runs a second time finds the result of the first, too old or not', async () => {
    const { runner, wall, evaluator } = open();
    await runner.run(task, QUEUED_AT_MS);
    expect(await runner.run(task, QUEUED_AT_MS)).toEqual({ outcome: 'found', ...verdict });
    wall.nowMs += AGE_MS_MAX + 1;
    expect(await runner.run(task, QUEUED_AT_MS)).toEqual({ outcome: 'found', ...verdict });
    expect(evaluator.kept.size).toBe(1);
  });

  it('whose key has got a result of another payload ends without one', async () => {
    const { runner, evaluator, finished } = open();
    evaluator.failure = new PaymentError(edgeProblems.idempotencyKeyReused, 'another payload');
    expect(await runner.run(task, QUEUED_AT_MS)).toEqual({ outcome: 'key_reused' });
    expect(finished).toEqual([['key_reused', 0]]);
  });

  it.each([new Error('the database is away'), new PaymentError(edgeProblems.idempotencyInFlight, 'elsewhere')])(
    'fails, to be tried again, where the evaluator does: %s',
    async (failure) => {
      const { runner, evaluator, finished, bulkhead, clock } = open();
      evaluator.failure = failure;
      const failed = expect(runner.run(task, QUEUED_AT_MS)).rejects.toBe(failure);
      await settle();
      clock.advance(50);
      await failed;
      expect(finished).toEqual([]);
      expect(bulkhead.snapshot().inUse).toBe(0);
    },
  );

  it('that fails keeps its place for a while, longer each time in a row, and holds no permit meanwhile', async () => {
    const { runner, evaluator, bulkhead, clock } = open();
    const failure = new Error('the database is away');
    const pauseOfNext = async (): Promise<number> => {
      let ended: unknown = null;
      runner.run(task, QUEUED_AT_MS).catch((error: unknown) => (ended = error));
      await settle();
      expect([bulkhead.snapshot().inUse, ended]).toEqual([0, null]);
      const pauseMs = clock.nextInMs;
      clock.advance(pauseMs - 1);
      await settle();
      expect(ended).toBeNull();
      clock.advance(1);
      await settle();
      expect(ended).toBe(failure);
      return pauseMs;
    };
    evaluator.failure = failure;
    const pauses = [];
    for (let turn = 0; turn < 7; turn += 1) pauses.push(await pauseOfNext());
    expect(pauses).toEqual([50, 100, 200, 400, 800, 1_000, 1_000]);
    evaluator.failure = null;
    await runner.run(task, QUEUED_AT_MS);
    evaluator.failure = failure;
    expect(await pauseOfNext()).toBe(50);
  });

  it('that fails while the process ends does not keep it', async () => {
    const { runner, evaluator, clock } = open();
    evaluator.failure = new Error('the database is away');
    const shutdown = new AbortController();
    const failed = expect(runner.run(task, QUEUED_AT_MS, shutdown.signal)).rejects.toThrow('the database is away');
    await settle();
    const armed = clock.armed;
    shutdown.abort('shutdown');
    await failed;
    expect(clock.armed).toBe(armed - 1);
    await expect(runner.run(task, QUEUED_AT_MS, shutdown.signal)).rejects.toThrow('The wait for a permit was ended');
  });

  it('of a clock that runs ahead is young', async () => {
    const { runner, finished } = open();
    await runner.run(task, QUEUED_AT_MS + 5_000);
    expect(finished).toEqual([['evaluated', 0]]);
  });
});
