import { FakeClock } from '../../../../test/support/fake-clock';
import { Bulkhead } from '../../../bulkhead/bulkhead';
import { failedWith } from '../item-failures';
import type { ItemOutcome, LedgerItem } from '../ledger';
import type { PendingRow } from '../write/journal';
import { LedgerBuffer } from './ledger-buffer';
import { Room } from './room';

const limits = {
  flushRowsMax: 500,
  flushWaitMsMax: 20,
  itemsMax: 10_000,
  bodyBytesHeldMax: 64 * 2 ** 20,
  congestedFrom: 8_000,
  openBelow: 6_000,
  outcomeMsMax: 10_000,
};

interface Flight {
  readonly keys: readonly string[];
  readonly rows: readonly PendingRow[];
  readonly atMs: number;
  /** Settles every row and ends the flush. */
  commit(outcomeOf?: (row: PendingRow) => ItemOutcome): Promise<void>;
  /** Ends the flush without a word, as one does that hands its rows to the splitter. */
  end(): Promise<void>;
}

let clock: FakeClock;
let room: Room;
let buffer: LedgerBuffer;
let flights: Flight[];
let triggers: string[];
let answers: { index: number; outcome: ItemOutcome; atMs: number }[];
let made = 0;

/** Lets everything run that is only waiting for promises. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

function item(name: string, changes: Partial<LedgerItem> = {}): LedgerItem {
  return {
    merchantId: 'mer_a',
    externalTransactionId: name,
    accountId: 'ACC-0001',
    type: 'SALE',
    amountMinor: 100,
    currency: 'USD',
    occurredAtMicros: 1_700_000_000_000_000,
    idempotencyKey: name,
    ...changes,
  };
}

function items(count: number): LedgerItem[] {
  return Array.from({ length: count }, () => item(`made ${(made += 1)}`));
}

function committed(entryId = 'ent_1', duplicate = false): ItemOutcome {
  return { status: 'COMMITTED', entryId, duplicate };
}

function admit(some: readonly LedgerItem[], callerKey = 'checkout') {
  return buffer.admit(some, callerKey, (index, outcome) => answers.push({ index, outcome, atMs: clock.now() }));
}

function sizes(): number[] {
  return flights.map(({ keys }) => keys.length);
}

beforeEach(() => {
  clock = new FakeClock();
  flights = [];
  triggers = [];
  answers = [];
  room = new Room(limits);
  buffer = new LedgerBuffer({
    limits,
    room,
    clock,
    bulkhead: new Bulkhead(
      { name: 'flushes', permits: 8, queueMax: 0, queueWaitMsMax: 0, executionMsMax: 10_000, background: null },
      clock,
    ),
    flush: (rows) =>
      new Promise<void>((resolve) => {
        const end = async (): Promise<void> => {
          resolve();
          await settled();
        };
        flights.push({
          keys: rows.map(({ item: { idempotencyKey } }) => idempotencyKey),
          rows,
          atMs: clock.now(),
          end,
          commit: (outcomeOf = () => committed()) => {
            for (const row of rows) row.settle(outcomeOf(row));
            return end();
          },
        });
      }),
    observer: { onFlush: (_rows, trigger) => triggers.push(trigger) },
  });
});

describe('the trigger [MC-DT-01]', () => {
  it('499 items wait, the 500th lets all go at once', () => {
    admit(items(499));
    expect(sizes()).toEqual([]);
    admit(items(1));
    expect(sizes()).toEqual([500]);
    expect(triggers).toEqual(['size']);
  });

  it('501 at once are 500 and 1, which goes when it has waited its 20 ms', () => {
    admit(items(501));
    expect(sizes()).toEqual([500]);
    clock.advance(19);
    expect(sizes()).toEqual([500]);
    clock.advance(1);
    expect(sizes()).toEqual([500, 1]);
    expect(triggers).toEqual(['size', 'time']);
  });

  it('one item goes at 20 ms, not before', () => {
    admit(items(1));
    clock.advance(19);
    expect(flights).toEqual([]);
    clock.advance(1);
    expect(sizes()).toEqual([1]);
  });

  it('a trickle puts nothing off: the oldest counts', () => {
    for (let atMs = 0; atMs < 20; atMs += 1) {
      admit(items(1));
      clock.advance(1);
    }
    expect(flights.map(({ atMs, keys }) => [atMs, keys.length])).toEqual([[20, 20]]);
    clock.advance(40);
    expect(sizes()).toEqual([20]);
  });

  it('nothing leaves an empty buffer, and no timer is kept for one', async () => {
    clock.advance(100);
    expect(flights).toEqual([]);
    expect(clock.armed).toBe(0);
    admit([]);
    clock.advance(100);
    expect(flights).toEqual([]);
    expect(answers).toEqual([]);
  });

  it('a late timer loses nothing: all that waits goes, in flushes of 500', () => {
    admit(items(499));
    clock.stall(60);
    admit(items(10));
    expect(sizes()).toEqual([500]);
    clock.advance(20);
    expect(sizes()).toEqual([500, 9]);
  });
});

describe('flushes in flight', () => {
  it('are 8 at most; a due batch leaves as soon as one ends', async () => {
    admit(items(4_500));
    expect(sizes()).toEqual(Array(8).fill(500));
    await flights[3]?.commit();
    expect(sizes()).toEqual(Array(9).fill(500));
    expect(buffer.flushesInFlight).toBe(8);
  });

  it('a batch that is not due waits on although permits are free', async () => {
    admit(items(500));
    admit(items(3));
    await flights[0]?.commit();
    expect(sizes()).toEqual([500]);
    clock.advance(20);
    expect(sizes()).toEqual([500, 3]);
  });

  it('what became due by time without a permit leaves with the next one, and takes along what came since', async () => {
    admit(items(4_000));
    admit(items(2), 'other');
    clock.advance(25);
    admit(items(1), 'other');
    expect(flights.length).toBe(8);
    await flights[0]?.commit();
    expect(sizes().at(-1)).toBe(3);
  });

  it('an item that comes while a flush is out belongs to the next one', async () => {
    admit([item('a')]);
    clock.advance(20);
    admit([item('b')]);
    await flights[0]?.commit();
    expect(answers.length).toBe(1);
    clock.advance(20);
    expect(flights[1]?.keys).toEqual(['b']);
  });

  it('a permit is held until the flush has really ended, also past its limit', async () => {
    admit(items(4_500));
    clock.advance(10_000);
    await settled();
    expect(flights.length).toBe(8);
    await flights[0]?.end();
    expect(buffer.flushesInFlight).toBe(7);
  });
});

describe('twins', () => {
  it('share one row: the first is committed, the others are its duplicates', async () => {
    admit([item('a'), item('a')]);
    admit([item('a')], 'other');
    clock.advance(20);
    expect(flights[0]?.keys).toEqual(['a']);
    await flights[0]?.commit(() => committed('ent_7'));
    expect(answers.map(({ outcome }) => outcome)).toEqual([
      committed('ent_7'),
      committed('ent_7', true),
      committed('ent_7', true),
    ]);
  });

  it('one that comes while the row is out joins it and is not written again', async () => {
    admit([item('a')]);
    clock.advance(20);
    admit([item('a')]);
    clock.advance(20);
    expect(flights.length).toBe(1);
    await flights[0]?.commit();
    expect(answers.map(({ outcome }) => outcome)).toEqual([committed(), committed('ent_1', true)]);
    clock.advance(100);
    expect(flights.length).toBe(1);
  });

  it('count as items that wait: 250 pairs leave at once', () => {
    const some = items(250);
    admit([...some, ...some]);
    expect(sizes()).toEqual([250]);
  });

  it('share a failure', async () => {
    admit([item('a'), item('a')]);
    clock.advance(20);
    await flights[0]?.commit(() => failedWith('ERR_ACCOUNT_CLOSED'));
    expect(answers.map(({ outcome }) => outcome)).toEqual(Array(2).fill(failedWith('ERR_ACCOUNT_CLOSED')));
  });

  it('another payload is a conflict once the first is committed', async () => {
    admit([item('a'), item('a', { amountMinor: 101 })]);
    clock.advance(20);
    await flights[0]?.commit();
    expect(answers.map(({ index, outcome }) => [index, outcome])).toEqual([
      [0, committed()],
      [1, failedWith('ERR_IDEMPOTENCY_CONFLICT')],
    ]);
  });

  it('another payload has its turn where the first was refused, and its own twins with it', async () => {
    admit([
      item('a'),
      item('a', { accountId: 'ACC-2' }),
      item('a', { accountId: 'ACC-2' }),
      item('a', { amountMinor: 1 }),
    ]);
    clock.advance(20);
    await flights[0]?.commit(() => failedWith('ERR_INVALID_ACCOUNT_ID'));
    clock.advance(0);
    expect(flights[1]?.rows.map((row) => row.item.accountId)).toEqual(['ACC-2']);
    await flights[1]?.commit(() => committed('ent_9'));
    expect(answers.map(({ index, outcome }) => [index, outcome])).toEqual([
      [0, failedWith('ERR_INVALID_ACCOUNT_ID')],
      [1, committed('ent_9')],
      [2, committed('ent_9', true)],
      [3, failedWith('ERR_IDEMPOTENCY_CONFLICT')],
    ]);
    expect(room.items).toBe(0);
  });

  it('an item behind one of another payload waits its turn, also where it is of the first payload', async () => {
    const first = item('a', { accountId: 'ACC-NOBODY' });
    admit([first, item('a'), first]);
    clock.advance(20);
    await flights[0]?.commit(() => failedWith('ERR_INVALID_ACCOUNT_ID'));
    clock.advance(0);
    await flights[1]?.commit(() => committed('ent_2'));
    admit([item('a'), first, item('a')]);
    clock.advance(20);
    await flights[2]?.commit(() => committed('ent_2', true));
    expect(answers.map(({ outcome }) => outcome)).toEqual([
      failedWith('ERR_INVALID_ACCOUNT_ID'),
      committed('ent_2'),
      failedWith('ERR_IDEMPOTENCY_CONFLICT'),
      committed('ent_2', true),
      failedWith('ERR_IDEMPOTENCY_CONFLICT'),
      committed('ent_2', true),
    ]);
  });

  it('the same key again, once it is answered, is a row of its own: the journal knows', async () => {
    admit([item('a')]);
    clock.advance(20);
    await flights[0]?.commit();
    admit([item('a')]);
    clock.advance(20);
    expect(flights[1]?.keys).toEqual(['a']);
  });
});

describe('time for an outcome', () => {
  it('ends after 10 s: in doubt where the statement is out', async () => {
    admit([item('a')]);
    clock.advance(20);
    const row = flights[0]?.rows[0] as PendingRow;
    row.inDoubt = true;
    clock.advance(9_979);
    expect(answers).toEqual([]);
    clock.advance(1);
    expect(answers).toEqual([{ index: 0, outcome: failedWith('ERR_OUTCOME_UNKNOWN'), atMs: 10_000 }]);
    expect(row.wanted).toBe(false);
    // The late word of the journal answers nobody twice.
    await flights[0]?.commit();
    expect(answers.length).toBe(1);
    expect(room.items).toBe(0);
  });

  it('ends after 10 s: not written where no flush has taken it', async () => {
    admit(items(4_000));
    admit([item('late')], 'other');
    clock.advance(10_000);
    await settled();
    expect(answers.filter(({ outcome }) => outcome === failedWith('ERR_STORE_UNAVAILABLE')).length).toBe(4_001);
    await flights[0]?.end();
    clock.advance(100);
    // It left the buffer with its answer, and is never written behind its caller's back.
    expect(flights.length).toBe(8);
  });

  it('counts for each item by itself: a twin that joined later is answered later', async () => {
    admit([item('a')]);
    clock.advance(4_000);
    admit([item('a')]);
    clock.advance(6_000);
    expect(answers.length).toBe(1);
    await flights[0]?.commit(() => committed('ent_3'));
    expect(answers[1]?.outcome).toEqual(committed('ent_3', true));
  });
});

describe('draining', () => {
  it('lets everything go at once and resolves when all is answered', async () => {
    admit(items(3));
    let drained = false;
    void buffer.drain().then(() => (drained = true));
    expect(triggers).toEqual(['drain']);
    await settled();
    expect(drained).toBe(false);
    // Admitted by a request that was under way.
    admit(items(1));
    expect(sizes()).toEqual([3, 1]);
    await flights[0]?.commit();
    expect(drained).toBe(false);
    await flights[1]?.commit();
    expect(drained).toBe(true);
    expect(answers.length).toBe(4);
  });

  it('waits for rows that a flush has handed on', async () => {
    admit([item('poison')]);
    let drained = false;
    void buffer.drain().then(() => (drained = true));
    await flights[0]?.end();
    expect(drained).toBe(false);
    flights[0]?.rows[0]?.settle(failedWith('ERR_MALFORMED_ITEM'));
    await settled();
    expect(drained).toBe(true);
  });

  it('of an empty buffer is done', async () => {
    await buffer.drain();
  });
});

describe('a full buffer', () => {
  it('holds 10,000 items in flight included; one more is refused, and nothing of its request admitted', async () => {
    expect([admit(items(5_000), 'a'), admit(items(4_999), 'b')]).toEqual(['admitted', 'admitted']);
    expect(admit(items(2), 'c')).toBe('no_room');
    expect(room.items).toBe(9_999);
    expect(admit(items(1), 'c')).toBe('admitted');
    expect(admit(items(1), 'c')).toBe('no_room');
    await flights[0]?.commit();
    expect(room.items).toBe(9_500);
    expect(admit(items(500), 'c')).toBe('admitted');
  });

  it('is SATURATED at 10,000 or at a refusal, RECOVERING below 6,000, NORMAL 10 s later', async () => {
    admit(items(5_000), 'a');
    admit(items(3_000), 'b');
    expect([buffer.state, buffer.pressure]).toEqual(['NORMAL', true]);
    admit(items(2_001), 'c');
    expect(buffer.state).toBe('SATURATED');
    for (let n = 0; n < 4; n += 1) await flights[n]?.commit();
    expect([room.items, buffer.state]).toEqual([6_000, 'SATURATED']);
    await flights[4]?.commit();
    expect([room.items, buffer.state]).toEqual([5_500, 'RECOVERING']);
    for (let n = 5; n < 16; n += 1) await flights[n]?.commit();
    expect(room.items).toBe(0);
    clock.advance(9_999);
    expect(buffer.state).toBe('RECOVERING');
    clock.advance(1);
    expect(buffer.state).toBe('NORMAL');
  });

  it('gives one caller half', () => {
    expect(admit(items(5_000))).toBe('admitted');
    expect(admit(items(1))).toBe('callers_half');
    expect(admit(items(1), 'other')).toBe('admitted');
    expect(buffer.state).toBe('NORMAL');
  });
});

it('no outcome comes before admit has returned', () => {
  let returned = false;
  buffer.admit(items(500), 'a', () => expect(returned).toBe(true));
  returned = true;
});
