import fc from 'fast-check';
import type { Caller } from '../../../ingress/caller';
import { BatchReader, TooManyItemsError } from './batch-reader';
import { NotJsonError } from './json-text';

const anybody: Caller = { subject: 'shop', scopes: new Set(['ledger']), merchants: '*' };

function item(id: string): object {
  return {
    item_id: id,
    merchant_id: 'mer_demo_0001',
    external_transaction_id: id,
    account_id: 'ACC-0001',
    type: 'SALE',
    amount_minor: 1250,
    currency: 'USD',
    occurred_at: '2026-11-30T12:00:00Z',
  };
}

function readWhole(text: string, itemsMax = 5_000): BatchReader {
  const reader = new BatchReader(text, anybody, itemsMax);
  reader.readOn(() => false);
  return reader;
}

describe('the envelope', () => {
  it.each([
    ['compact', (items: object[]) => JSON.stringify({ items })],
    ['with white space', (items: object[]) => JSON.stringify({ items }, null, 2)],
    ['behind a byte order mark', (items: object[]) => `\ufeff${JSON.stringify({ items })}`],
    ['with an escaped name', (items: object[]) => JSON.stringify({ items }).replace('items', '\\u0069tems')],
  ])('%s: its items are read in their order', (_, write) => {
    const reader = readWhole(write([item('a'), item('b'), item('c')]));
    expect(reader.faults).toEqual([]);
    expect(reader.items.map(({ itemId, fault }) => [itemId, fault])).toEqual([
      ['a', null],
      ['b', null],
      ['c', null],
    ]);
  });

  it('has faults of its own, by pointer', () => {
    const faults = (text: string): string[] => readWhole(text).faults.map(({ pointer }) => pointer);
    expect(faults('{}')).toEqual(['/items']);
    expect(faults('{"items":[]}')).toEqual(['/items']);
    expect(faults('{"items":{}}')).toEqual(['/items']);
    expect(faults('{"items":null}')).toEqual(['/items']);
    expect(faults('{"items":[1],"items":[2]}')).toEqual(['/items']);
    expect(faults('{"a":1,"items":[1],"b/c":{"items":[]}}')).toEqual(['/a', '/b~1c']);
    expect(faults('{"itemz":[1]}')).toEqual(['/itemz', '/items']);
    expect(faults('{"__proto__":[1],"items":[1]}')).toEqual(['/__proto__']);
    expect(faults('[]')).toEqual(['']);
    expect(faults('"items"')).toEqual(['']);
    expect(faults(' null ')).toEqual(['']);
  });

  it.each([
    '',
    ' ',
    '{',
    '{"items"',
    '{"items":',
    '{"items":[',
    '{"items":[1',
    '{"items":[1,',
    '{"items":[1,]',
    '{"items":[1,]}',
    '{"items":[,1]}',
    '{"items":[1 2]}',
    '{"items":[1]',
    '{"items":[1]}}',
    '{"items":[1]},',
    '{"items":[1],}',
    '{"items":[1] "a":1}',
    '{items:[1]}',
    "{'items':[1]}",
    '{"items" [1]}',
    '{"a":tru,"items":[1]}',
    '{"items":[{"a":}]}',
    '{"items":[nope]}',
    'nope',
    '\u00a0{"items":[1]}',
  ])('%p is no JSON', (text) => {
    expect(() => readWhole(text)).toThrow(NotJsonError);
  });

  it('has as many items as it may, and not one more', () => {
    const text = (count: number): string =>
      JSON.stringify({ items: Array.from({ length: count }, (_, i) => item(`${i}`)) });
    expect(readWhole(text(2), 3).items).toHaveLength(2);
    expect(readWhole(text(3), 3).items).toHaveLength(3);
    expect(() => readWhole(text(4), 3)).toThrow(TooManyItemsError);
  });

  it('one bad item among others fails alone', () => {
    const items = [item('a'), { ...item('b'), external_transaction_id: 'b\0' }, 17, item('c')];
    const { items: read } = readWhole(JSON.stringify({ items }));
    expect(read.map(({ itemId, fault }) => [itemId, fault?.code])).toEqual([
      ['a', undefined],
      ['b', 'ERR_INVALID_TEXT'],
      [null, 'ERR_MALFORMED_ITEM'],
      ['c', undefined],
    ]);
  });
});

describe('against JSON.parse', () => {
  const documents = fc
    .record({ items: fc.array(fc.oneof(fc.constant(item('a')), fc.jsonValue({ maxDepth: 2 })), { maxLength: 4 }) })
    .map((document) => JSON.stringify(document));
  /** A valid document with one character taken out, put in, or changed. */
  const damaged = fc
    .tuple(
      documents,
      fc.nat(),
      fc.constantFrom('', '"', '\\', ',', ':', '{', '}', '[', ']', '1', '.', 'e', ' ', '\n', '\0', 'é'),
      fc.nat(2),
    )
    .map(([text, place, character, removed]) => {
      const at = place % (text.length + 1);
      return text.slice(0, at) + character + text.slice(at + removed);
    });

  it('takes every text that is JSON, and no other', () => {
    let taken = 0;
    fc.assert(
      fc.property(damaged, (text) => {
        let parsed = true;
        try {
          JSON.parse(text);
        } catch {
          parsed = false;
        }
        let read = true;
        try {
          readWhole(text);
        } catch (error) {
          expect(error).toBeInstanceOf(NotJsonError);
          read = false;
        }
        expect({ text, read }).toEqual({ text, read: parsed });
        if (read) taken += 1;
      }),
      { numRuns: 5_000 },
    );
    expect(taken).toBeGreaterThan(100);
  });

  it('reads the same whichever the parts it is read in', () => {
    fc.assert(
      fc.property(documents, fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }), (text, pauses) => {
        const whole = readWhole(text);
        const parts = new BatchReader(text, anybody, 5_000);
        let turn = 0;
        while (!parts.readOn(() => pauses[(turn += 1) % pauses.length] === true)) expect(turn).toBeLessThan(1_000);
        expect([parts.items, parts.faults]).toEqual([whole.items, whole.faults]);
      }),
    );
  });
});
