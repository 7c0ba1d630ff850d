import fc from 'fast-check';
import { FakeClock } from '../../../../test/support/fake-clock';
import { Bulkhead } from '../../../bulkhead/bulkhead';
import { failedWith } from '../item-failures';
import type { ItemOutcome, LedgerItem } from '../ledger';
import type { PendingRow } from '../write/journal';
import { type BufferLimits, LedgerBuffer } from './ledger-buffer';
import { Room } from './room';

const PERMITS = 2;
const LIMITS: BufferLimits = { flushRowsMax: 4, flushWaitMsMax: 20, itemsMax: 1_000, outcomeMsMax: 1_000_000 };

interface Flight {
  readonly rows: readonly PendingRow[];
  readonly end: () => void;
}

/** A buffer whose flushes end when the test says so. */
class Bench {
  readonly clock = new FakeClock();
  readonly room = new Room({ ...LIMITS, bodyBytesHeldMax: 1, congestedFrom: 800, openBelow: 600 });
  readonly out: Flight[] = [];
  readonly left: { atMs: number; keys: string[] }[] = [];
  readonly buffer: LedgerBuffer;

  constructor(limits: BufferLimits) {
    this.buffer = new LedgerBuffer({
      limits,
      room: this.room,
      clock: this.clock,
      bulkhead: new Bulkhead(
        { name: 'f', permits: PERMITS, queueMax: 0, queueWaitMsMax: 0, executionMsMax: 1e9, background: null },
        this.clock,
      ),
      flush: (rows) =>
        new Promise((resolve) => {
          this.left.push({ atMs: this.clock.now(), keys: rows.map(({ item }) => item.idempotencyKey) });
          this.out.push({ rows, end: resolve });
        }),
      observer: {},
    });
  }

  /** Ends one of the flushes that are out, and lets whatever waits for that run. */
  async end(which: number, outcomeOf: (row: PendingRow) => ItemOutcome): Promise<void> {
    const [flight] = this.out.splice(which % Math.max(1, this.out.length), 1);
    if (flight === undefined) return;
    for (const row of flight.rows) row.settle(outcomeOf(row));
    flight.end();
    for (let turn = 0; turn < 8; turn += 1) await Promise.resolve();
  }
}

function item(key: string, payload = 1): LedgerItem {
  return {
    merchantId: 'm',
    externalTransactionId: key,
    accountId: payload === 0 ? 'ACC-NOBODY' : 'ACC-1',
    type: 'SALE',
    amountMinor: 1 + payload,
    currency: 'USD',
    occurredAtMicros: 0,
    idempotencyKey: key,
  };
}

type Step =
  | { readonly kind: 'admit'; readonly count: number }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'end'; readonly which: number };

const advance = fc.integer({ min: 1, max: 30 }).map((ms): Step => ({ kind: 'advance', ms }));
const end = fc.nat(3).map((which): Step => ({ kind: 'end', which }));

const steps = fc.array(
  fc.oneof(
    fc.integer({ min: 0, max: 9 }).map((count): Step => ({ kind: 'admit', count })),
    advance,
    end,
  ),
  { maxLength: 40 },
);

/** The rule by itself, without a timer: looked at after every millisecond and every event. */
class PlainRule {
  readonly left: { atMs: number; keys: string[] }[] = [];
  #waiting: { key: string; sinceMs: number }[] = [];
  #free = PERMITS;

  admit(keys: readonly string[], nowMs: number): void {
    for (const key of keys) this.#waiting.push({ key, sinceMs: nowMs });
    this.look(nowMs);
  }

  look(nowMs: number): void {
    while (this.#free > 0 && this.#waiting.length > 0) {
      const oldestWaitedMs = nowMs - (this.#waiting[0]?.sinceMs ?? 0);
      if (this.#waiting.length < LIMITS.flushRowsMax && oldestWaitedMs < LIMITS.flushWaitMsMax) return;
      this.#free -= 1;
      this.left.push({ atMs: nowMs, keys: this.#waiting.splice(0, LIMITS.flushRowsMax).map(({ key }) => key) });
    }
  }

  end(nowMs: number): void {
    this.#free += 1;
    this.look(nowMs);
  }
}

async function leavesByTheRule(some: readonly Step[], limits: BufferLimits): Promise<void> {
  const bench = new Bench(limits);
  const rule = new PlainRule();
  let made = 0;
  for (const step of some) {
    const nowMs = bench.clock.now();
    if (step.kind === 'admit') {
      const keys = Array.from({ length: step.count }, () => `k${(made += 1)}`);
      bench.buffer.admit(
        keys.map((key) => item(key)),
        `caller ${made % 3}`,
        () => undefined,
      );
      rule.admit(keys, nowMs);
    } else if (step.kind === 'advance') {
      for (let ms = 0; ms < step.ms; ms += 1) {
        bench.clock.advance(1);
        rule.look(bench.clock.now());
      }
    } else if (bench.out.length > 0) {
      await bench.end(step.which, () => ({ status: 'COMMITTED', entryId: 'ent_1', duplicate: false }));
      rule.end(nowMs);
    }
    expect(bench.left).toEqual(rule.left);
    expect(bench.out.length).toBeLessThanOrEqual(PERMITS);
  }
}

it('flushes leave exactly when the rule says so, with the rows that it says', async () => {
  await fc.assert(
    fc.asyncProperty(steps, (some) => leavesByTheRule(some, LIMITS)),
    { numRuns: 500 },
  );
});

it.each([
  ['waits a millisecond too long', { ...LIMITS, flushWaitMsMax: 21 }],
  ['goes a millisecond too soon', { ...LIMITS, flushWaitMsMax: 19 }],
  ['takes one row too many', { ...LIMITS, flushRowsMax: 5 }],
  ['goes with one row too few', { ...LIMITS, flushRowsMax: 3 }],
])('the property notices a buffer that %s', async (_fault, limits) => {
  const { failed } = await fc.check(
    fc.asyncProperty(steps, (some) => leavesByTheRule(some, limits)),
    { numRuns: 500, endOnFailure: true, seed: 1 },
  );
  expect(failed).toBe(true);
});

/** Few keys and payloads; payload 0 names an account that is not there. */
const askedSteps = fc.array(
  fc.oneof(fc.array(fc.record({ key: fc.nat(5), payload: fc.nat(2) }), { minLength: 1, maxLength: 6 }), advance, end),
  { maxLength: 40 },
);

it('whatever joins, waits its turn or comes back: each item is answered once, as if one had come after another', async () => {
  await fc.assert(
    fc.asyncProperty(askedSteps, async (some) => {
      const bench = new Bench(LIMITS);
      const journal = new Map<string, number>();
      const oneByOne = new Map<string, number>();
      const expected: string[] = [];
      const answers: string[] = [];
      const outcomeOf = ({ item: { idempotencyKey, amountMinor } }: PendingRow): ItemOutcome => {
        const stored = journal.get(idempotencyKey);
        if (stored === undefined && amountMinor === 1) return failedWith('ERR_INVALID_ACCOUNT_ID');
        if (stored !== undefined && stored !== amountMinor) return failedWith('ERR_IDEMPOTENCY_CONFLICT');
        journal.set(idempotencyKey, amountMinor);
        return { status: 'COMMITTED', entryId: `ent_${idempotencyKey}`, duplicate: stored !== undefined };
      };
      for (const step of some) {
        if ('kind' in step) {
          if (step.kind === 'advance') bench.clock.advance(step.ms);
          else if (step.kind === 'end') await bench.end(step.which, outcomeOf);
        } else {
          const first = expected.length;
          const items = step.map(({ key, payload }) => item(`k${key}`, payload));
          for (const { idempotencyKey, amountMinor } of items)
            expected.push(book(oneByOne, idempotencyKey, amountMinor));
          bench.buffer.admit(items, `caller ${first % 3}`, (index, outcome) => {
            expect(answers[first + index]).toBeUndefined();
            answers[first + index] =
              outcome.status === 'FAILED' ? outcome.code : outcome.duplicate ? 'duplicate' : 'new';
          });
        }
        const keysOut = bench.out.flatMap(({ rows }) => rows.map((row) => row.item.idempotencyKey));
        expect(new Set(keysOut).size).toBe(keysOut.length);
      }
      void bench.buffer.drain();
      for (let n = 0; bench.room.items > 0 && n < 1_000; n += 1) {
        await bench.end(0, outcomeOf);
        bench.clock.advance(1);
      }
      expect(answers).toEqual(expected);
      expect(bench.buffer.waitingItems).toBe(0);
    }),
    { numRuns: 500 },
  );
});

function book(stored: Map<string, number>, key: string, amount: number): string {
  const before = stored.get(key);
  if (before !== undefined) return before === amount ? 'duplicate' : 'ERR_IDEMPOTENCY_CONFLICT';
  if (amount === 1) return 'ERR_INVALID_ACCOUNT_ID';
  stored.set(key, amount);
  return 'new';
}
