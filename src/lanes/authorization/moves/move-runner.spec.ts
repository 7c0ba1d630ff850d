import { postgresError } from '../../../../test/fixtures/authorization-groups';
import { moveRequest } from '../../../../test/fixtures/authorization-moves';
import { FakeClock } from '../../../../test/support/fake-clock';
import { databaseProblems } from '../../../platform/database/database.problems';
import { PaymentError } from '../../../shared/problem';
import { newRowId } from '../authorization-id';
import type { MoveOutcome, MoveRecord, MoveRequest, MoveStore, StoredMove } from './move';
import { MoveRunner } from './move-runner';

function recordOf(rowId: string, amountMinor = 10): MoveRecord {
  return {
    kind: 'capture',
    rowId,
    captureRowId: null,
    amountMinor,
    createdAt: new Date(0),
    authorization: {
      rowId: 'a',
      merchantId: 'm',
      amountMinor: 100,
      capturedMinor: amountMinor,
      reversedMinor: 0,
      expiredMinor: 0,
      refundedMinor: 0,
      currency: 'USD',
      responseCode: '00',
      createdAt: new Date(0),
      expiresAt: new Date(1),
    },
  };
}

type Step = MoveOutcome['kind'] | Error;

/** A database whose answers to moves are given, in order; `stored` is what stands under the key meanwhile. */
class FakeMoveStore implements MoveStore {
  readonly tried: string[] = [];
  stored: StoredMove | null = null;
  keyHeld = false;
  /** A statement that fails has committed all the same: its answer alone was lost. */
  commitsBeforeFailing = false;

  constructor(private readonly steps: Step[]) {}

  move(request: MoveRequest, rowId: string, waits: boolean): Promise<MoveOutcome> {
    this.tried.push(waits ? 'waits' : 'skips');
    const step = this.steps.shift() ?? 'moved';
    if (step instanceof Error) {
      if (this.commitsBeforeFailing) {
        this.stored = { payloadHash: request.keyed.payloadHash, record: recordOf(rowId) };
      }
      return Promise.reject(step);
    }
    if (step === 'moved') return Promise.resolve({ kind: step, record: recordOf(rowId) });
    return Promise.resolve(step === 'exceeds' ? { kind: step, leftMinor: 5 } : { kind: step });
  }

  findStored(): Promise<StoredMove | null> {
    this.tried.push('looks up');
    return Promise.resolve(this.stored);
  }

  isKeyHeld(): Promise<boolean> {
    this.tried.push('tries the key');
    return Promise.resolve(this.keyHeld);
  }
}

const request = moveRequest({ kind: 'capture', target: newRowId(), amount: 10 });

async function run(
  store: FakeMoveStore,
  options: { clock?: FakeClock; lockWaitersMax?: number } = {},
): Promise<string> {
  const clock = options.clock ?? new FakeClock();
  const runner = new MoveRunner({
    store,
    clock,
    lockWaitersMax: options.lockWaitersMax ?? 8,
    executionMsMax: 10_000,
    random: () => 0.5,
  });
  const running = runner.run(request).then(
    (outcome) => (outcome.kind === 'answered' ? (outcome.replayed ? 'replayed' : 'moved') : outcome.kind),
    (error: unknown) => (error as PaymentError).code,
  );
  for (let turn = 0; turn < 40; turn += 1) {
    for (let tick = 0; tick < 10; tick += 1) await Promise.resolve();
    clock.advance(100);
  }
  expect(clock.armed).toBe(0);
  return running;
}

const lost = new Error('Connection terminated unexpectedly');
const otherPayload: StoredMove = { payloadHash: Buffer.alloc(32), record: recordOf('other') };
const samePayload: StoredMove = { payloadHash: request.keyed.payloadHash, record: recordOf('other') };

it('needs one statement', async () => {
  const store = new FakeMoveStore(['moved']);
  expect(await run(store)).toBe('moved');
  expect(store.tried).toEqual(['skips']);
});

it.each<[Step, string, StoredMove | null]>([
  ['key_taken', 'replayed', samePayload],
  ['key_taken', 'key_reused', otherPayload],
  ['key_taken', 'in_flight', null],
  ['invalid_state', 'ERR_INVALID_STATE', null],
  ['invalid_state', 'replayed', samePayload],
  ['invalid_state', 'key_reused', otherPayload],
  ['exceeds', 'ERR_AMOUNT_EXCEEDS_REMAINING', null],
  ['exceeds', 'replayed', samePayload],
  ['no_settlement_account', 'ERR_NO_SETTLEMENT_ACCOUNT', null],
  ['locked', 'replayed', samePayload],
])('%s is answered %s after one look-up', async (step, answer, stored) => {
  const store = new FakeMoveStore([step]);
  store.stored = stored;
  expect(await run(store)).toBe(answer);
  expect(store.tried).toEqual(['skips', 'looks up']);
});

it('looks nothing up for what is not there', async () => {
  const store = new FakeMoveStore(['unknown']);
  expect(await run(store)).toBe('ERR_NOT_FOUND');
  expect(store.tried).toEqual(['skips']);
});

it('waits for a lock once it knows that there is no answer yet', async () => {
  const store = new FakeMoveStore(['locked', 'moved']);
  expect(await run(store)).toBe('moved');
  expect(store.tried).toEqual(['skips', 'looks up', 'waits']);
});

it.each([
  [false, 'ERR_CARD_BUSY'],
  [true, 'in_flight'],
])('a lock that is not had in time: key held elsewhere %s, answered %s', async (keyHeld, answer) => {
  const store = new FakeMoveStore(['locked', postgresError('55P03')]);
  store.keyHeld = keyHeld;
  expect(await run(store)).toBe(answer);
  expect(store.tried).toEqual(['skips', 'looks up', 'waits', 'tries the key']);
});

it('does not wait where enough others do', async () => {
  const store = new FakeMoveStore(['locked']);
  expect(await run(store, { lockWaitersMax: 0 })).toBe('ERR_CARD_BUSY');
  expect(store.tried).toEqual(['skips', 'looks up']);
});

it('tries again where a connection or a deadlock failed it, three times at most', async () => {
  const twice = new FakeMoveStore([lost, postgresError('40P01'), 'moved']);
  expect(await run(twice)).toBe('moved');
  expect(twice.tried).toHaveLength(3);
  const never = new FakeMoveStore(Array.from({ length: 9 }, () => lost));
  expect(await run(never)).toBe('ERR_DATABASE_UNAVAILABLE');
  expect(never.tried).toHaveLength(4);
});

it('knows its own row when an answer was lost with the connection: no replay', async () => {
  const store = new FakeMoveStore([lost, 'key_taken']);
  store.commitsBeforeFailing = true;
  expect(await run(store)).toBe('moved');
  const judged = new FakeMoveStore([lost, 'invalid_state']);
  judged.commitsBeforeFailing = true;
  expect(await run(judged)).toBe('moved');
});

it('tells what only it can know of a failure', async () => {
  expect(await run(new FakeMoveStore([postgresError('23514')]))).toBe('ERR_INTERNAL');
  expect(await run(new FakeMoveStore([postgresError('57014')]))).toBe('ERR_DATABASE_UNAVAILABLE');
  const exhausted = new PaymentError(databaseProblems.poolExhausted, 'none');
  expect(await run(new FakeMoveStore([exhausted]))).toBe('ERR_DATABASE_POOL_EXHAUSTED');
});
