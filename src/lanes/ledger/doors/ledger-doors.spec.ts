import fc from 'fast-check';
import { FakeClock } from '../../../../test/support/fake-clock';
import type { Caller } from '../../../ingress/caller';
import { PaymentError } from '../../../shared/problem';
import type { AdmissionVerdict, Ingest, ItemOutcome, LedgerItem, OutcomeListener } from '../ledger';
import { ledgerProblems } from '../ledger.problems';
import { BatchResultsWriter, resultOf } from './batch-results';
import { LedgerDoors } from './ledger-doors';
import { Turns } from './turns';

const caller: Caller = { subject: 'shop', scopes: new Set(['ledger']), merchants: '*' };

function item(id: string, changes: object = {}): object {
  return {
    item_id: id,
    merchant_id: 'mer_demo_0001',
    external_transaction_id: id,
    account_id: 'ACC-0001',
    type: 'SALE',
    amount_minor: 1250,
    currency: 'USD',
    occurred_at: '2026-11-30T12:00:00Z',
    ...changes,
  };
}

/** A buffer whose outcomes the test gives, in whatever order. */
class GivenIngest implements Ingest {
  verdict: AdmissionVerdict = 'admitted';
  readonly admitted: { item: LedgerItem; answer: (outcome: ItemOutcome) => void }[] = [];
  calls = 0;

  admit(items: readonly LedgerItem[], _callerKey: string, onOutcome: OutcomeListener): AdmissionVerdict {
    this.calls += 1;
    if (this.verdict !== 'admitted') return this.verdict;
    items.forEach((one, index) => this.admitted.push({ item: one, answer: (outcome) => onOutcome(index, outcome) }));
    return 'admitted';
  }
}

function setUp() {
  const ingest = new GivenIngest();
  let formFaults = 0;
  const doors = new LedgerDoors({
    ingest,
    turns: new Turns(new FakeClock()),
    batchItemsMax: 5_000,
    newBatchId: () => 'btc_1',
    refuse: (refusal) => new PaymentError(ledgerProblems.full, refusal),
    onFormFaults: (count) => (formFaults += count),
  });
  return { ingest, doors, formFaults: () => formFaults };
}

function committed(entryId: string, duplicate = false): ItemOutcome {
  return { status: 'COMMITTED', entryId, duplicate };
}

async function untilAdmitted(ingest: GivenIngest, count: number): Promise<void> {
  while (ingest.admitted.length < count) await new Promise((resolve) => setImmediate(resolve));
}

describe('a batch', () => {
  it('has a result for each item in request order, whatever the order of outcomes', async () => {
    const { ingest, doors, formFaults } = setUp();
    const items = [item('a'), item('b', { amount_minor: 0 }), item('c'), 17, item('d'), item('e')];
    const answer = doors.batch(JSON.stringify({ items }), caller);
    await untilAdmitted(ingest, 4);
    const outcomes: Record<string, ItemOutcome> = {
      a: committed('ent_1'),
      c: committed('ent_2', true),
      d: { status: 'FAILED', code: 'ERR_STORE_UNAVAILABLE', detail: 'Later', retryable: true },
      e: { status: 'FAILED', code: 'ERR_ACCOUNT_CLOSED', detail: 'Closed', pointer: '/account_id', retryable: false },
    };
    for (const { item: one, answer: tell } of [...ingest.admitted].reverse()) {
      tell(outcomes[one.externalTransactionId] as ItemOutcome);
    }
    const amount = 'Must be an integer from 1 to 9007199254740991, written without sign, fraction or exponent';
    expect(JSON.parse(await answer)).toEqual({
      batch_id: 'btc_1',
      total_items: 6,
      successful_count: 2,
      failed_count: 4,
      duplicate_count: 1,
      results: [
        { index: 0, item_id: 'a', status: 'COMMITTED', ledger_entry_id: 'ent_1' },
        {
          index: 1,
          item_id: 'b',
          status: 'FAILED',
          error: { code: 'ERR_INVALID_AMOUNT', detail: amount, pointer: '/amount_minor', retryable: false },
        },
        { index: 2, item_id: 'c', status: 'COMMITTED', ledger_entry_id: 'ent_2', duplicate: true },
        {
          index: 3,
          item_id: null,
          status: 'FAILED',
          error: { code: 'ERR_MALFORMED_ITEM', detail: 'Must be an object', pointer: '', retryable: false },
        },
        {
          index: 4,
          item_id: 'd',
          status: 'FAILED',
          error: { code: 'ERR_STORE_UNAVAILABLE', detail: 'Later', retryable: true },
        },
        {
          index: 5,
          item_id: 'e',
          status: 'FAILED',
          error: { code: 'ERR_ACCOUNT_CLOSED', detail: 'Closed', pointer: '/account_id', retryable: false },
        },
      ],
    });
    expect(formFaults()).toBe(2);
  });

  it('of faulty items alone needs no room', async () => {
    const { ingest, doors } = setUp();
    ingest.verdict = 'no_room';
    const answer = JSON.parse(await doors.batch('{"items":[1,2,3]}', caller)) as { failed_count: number };
    expect([answer.failed_count, ingest.calls]).toEqual([3, 0]);
  });

  it.each(['no_room', 'callers_half'] as const)('that meets %s is refused whole', async (verdict) => {
    const { ingest, doors } = setUp();
    ingest.verdict = verdict;
    const answer = doors.batch(JSON.stringify({ items: [item('a'), 17] }), caller);
    await expect(answer).rejects.toMatchObject({ code: 'ERR_LEDGER_BUFFER_FULL', message: verdict });
  });

  it.each([
    ['{"items":[1', 'ERR_MALFORMED_JSON', undefined],
    ['{}', 'ERR_VALIDATION', undefined],
    [
      `{"items":[${Array.from({ length: 5_001 }, () => '1').join(',')}]}`,
      'ERR_PAYLOAD_TOO_LARGE',
      { limit_items: 5_000 },
    ],
    [
      `{"items":[${Array.from({ length: 50_000 }, () => '1').join(',')}]}`,
      'ERR_PAYLOAD_TOO_LARGE',
      { limit_items: 5_000 },
    ],
  ])('%.20s… is refused as %s before anything is admitted', async (text, code, members) => {
    const { ingest, doors } = setUp();
    const refusal = expect(doors.batch(text, caller)).rejects;
    await refusal.toMatchObject({ code, ...(members && { extras: { members } }) });
    expect(ingest.calls).toBe(0);
  });

  it('nothing is admitted where the text breaks off behind thousands of good items', async () => {
    const { ingest, doors } = setUp();
    const items = Array.from({ length: 4_000 }, (_, index) => item(`${index}`));
    const text = JSON.stringify({ items }).slice(0, -1);
    await expect(doors.batch(text, caller)).rejects.toMatchObject({ code: 'ERR_MALFORMED_JSON' });
    expect(ingest.calls).toBe(0);
  });

  it('of 5,000 items is read, admitted as one and answered in parts', async () => {
    const { ingest, doors } = setUp();
    const items = Array.from({ length: 5_000 }, (_, index) => item(`t${index}`));
    const answer = doors.batch(JSON.stringify({ items }), caller);
    await untilAdmitted(ingest, 5_000);
    expect(ingest.calls).toBe(1);
    ingest.admitted.forEach(({ answer: tell }, index) => tell(committed(`ent_${index}`)));
    const { results } = JSON.parse(await answer) as { results: { item_id: string; ledger_entry_id: string }[] };
    expect(results.map(({ item_id, ledger_entry_id }) => [item_id, ledger_entry_id])).toEqual(
      items.map((_, index) => [`t${index}`, `ent_${index}`]),
    );
  });
});

describe('the door for one item', () => {
  it.each(['{"item_id"', '', '{} {}', '{},', '\u00a0{}'])('%p is no JSON', async (text) => {
    await expect(setUp().doors.entry(text, caller)).rejects.toMatchObject({ code: 'ERR_MALFORMED_JSON' });
  });

  it('has the fault of the form at once, and the outcome of the buffer otherwise', async () => {
    const { ingest, doors } = setUp();
    expect(await doors.entry('[]', caller)).toMatchObject({ itemId: null, outcome: { code: 'ERR_MALFORMED_ITEM' } });
    const answer = doors.entry(`\ufeff ${JSON.stringify(item('a'), null, 2)}\n`, caller);
    await untilAdmitted(ingest, 1);
    ingest.admitted[0]?.answer(committed('ent_1'));
    expect(await answer).toEqual({ itemId: 'a', outcome: committed('ent_1') });
  });
});

describe('the body of a batch’s results', () => {
  const outcome: fc.Arbitrary<ItemOutcome> = fc.oneof(
    fc.record({ status: fc.constant('COMMITTED' as const), entryId: fc.constant('ent_1'), duplicate: fc.boolean() }),
    fc.record({
      status: fc.constant('FAILED' as const),
      code: fc.constantFrom('ERR_MALFORMED_ITEM' as const, 'ERR_ACCOUNT_CLOSED' as const),
      detail: fc.string({ unit: 'binary' }),
      retryable: fc.boolean(),
    }),
  );

  it('is what JSON.stringify would make of them, in whatever parts it is written', () => {
    const results = fc.array(fc.tuple(fc.option(fc.string({ unit: 'binary' })), outcome), { maxLength: 6 });
    fc.assert(
      fc.property(results, fc.boolean(), (pairs, pause) => {
        const writer = new BatchResultsWriter({
          batchId: 'btc_1',
          itemIds: pairs.map(([itemId]) => itemId),
          outcomes: pairs.map(([, each]) => each),
        });
        while (!writer.writeOn(() => pause));
        const successes = pairs.filter(([, { status }]) => status === 'COMMITTED').length;
        expect(JSON.parse(writer.toString())).toEqual({
          batch_id: 'btc_1',
          total_items: pairs.length,
          successful_count: successes,
          failed_count: pairs.length - successes,
          duplicate_count: pairs.filter(([, each]) => each.status === 'COMMITTED' && each.duplicate).length,
          results: pairs.map(([itemId, each], index) => ({ index, ...resultOf(itemId, each) })),
        });
      }),
    );
  });

  it('is not written where an item was left without an outcome', () => {
    const writer = new BatchResultsWriter({ batchId: 'b', itemIds: ['a'], outcomes: new Array<ItemOutcome>(1) });
    expect(() => writer.writeOn(() => false)).toThrow('without an outcome');
  });
});
