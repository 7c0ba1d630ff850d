import { hash } from 'node:crypto';
import fc from 'fast-check';
import type { Caller } from '../../../ingress/caller';
import { ITEM_MEMBERS } from './item-form';
import { ITEM_CHARACTERS_MAX, ItemReader, type ReadItem } from './item-reader';
import { NotJsonError } from './json-text';

const anybody: Caller = { subject: 'shop', scopes: new Set(['ledger']), merchants: '*' };

const usual = {
  item_id: 'tx_991201',
  merchant_id: 'mer_demo_0001',
  external_transaction_id: 'ext-1',
  account_id: 'ACC-0001',
  type: 'SALE',
  amount_minor: 1250,
  currency: 'USD',
  occurred_at: '2026-11-30T12:00:00Z',
};

function read(text: string, caller = anybody): ReadItem {
  return new ItemReader(text, caller).read(0);
}

function readWith(changes: object, caller = anybody): ReadItem {
  return read(JSON.stringify({ ...usual, ...changes }), caller);
}

/** The usual item with one member's value as it is given, character by character. */
function written(member: string, value: string): string {
  return JSON.stringify({ ...usual, [member]: '@@' }).replace('"@@"', value);
}

function codeAndPointer({ item, fault }: ReadItem): [string | undefined, string | undefined] {
  expect(item === null).toBe(fault !== null);
  return [fault?.code, fault?.pointer];
}

describe('an item', () => {
  const expected = {
    merchantId: 'mer_demo_0001',
    externalTransactionId: 'ext-1',
    accountId: 'ACC-0001',
    type: 'SALE',
    amountMinor: 1250,
    currency: 'USD',
    occurredAtMicros: Date.parse('2026-11-30T12:00:00Z') * 1000,
    idempotencyKey: hash('sha256', 'mer_demo_0001:ext-1', 'hex'),
  };

  it.each([
    ['as JSON.stringify writes it', JSON.stringify(usual)],
    ['with white space', JSON.stringify(usual, null, 2)],
    ['in another order', JSON.stringify(Object.fromEntries(Object.entries(usual).reverse()))],
    ['with an escape', JSON.stringify(usual).replace('ext-1', '\\u0065xt-1')],
    ['with an escaped name', JSON.stringify(usual).replace('item_id', 'item\\u005fid')],
  ])('%s', (_, text) => {
    expect(read(text)).toEqual({ itemId: 'tx_991201', item: expected, fault: null });
  });

  it('ends where it ends', () => {
    for (const text of [JSON.stringify(usual), JSON.stringify(usual).replace('ext-1', 'ext\\"1'), '17', '[]', '"a"']) {
      const reader = new ItemReader(`${text} , {"next": 1}`, anybody);
      reader.read(0);
      expect(reader.end).toBe(text.length);
    }
  });

  it.each([
    '',
    '{',
    '{"item_id"',
    '{"item_id":}',
    '{"item_id":"a",}',
    "{'item_id':1}",
    '{"a":01}',
    '[1,]',
    'nul',
    '"\u0001"',
    '"\\x"',
    '{"a":[}',
    '+1',
    ',',
  ])('%p is no JSON', (text) => {
    expect(() => read(text)).toThrow(NotJsonError);
  });
});

describe('a fault of an item has its own code and pointer', () => {
  it.each([
    ['a number', '5', ''],
    ['null', 'null', ''],
    ['a list', '[]', ''],
    ['a string', '"SALE"', ''],
    ['nothing in it', '{}', '/item_id'],
    ['an unknown member', JSON.stringify({ ...usual, note: 1 }), '/note'],
    ['an unknown member of a path', JSON.stringify({ ...usual, 'a/b~c': 1 }), '/a~1b~0c'],
    ['a prototype', JSON.stringify(usual).replace('{', '{"__proto__":{"amount_minor":1},'), '/__proto__'],
    ['a constructor', JSON.stringify(usual).replace('{', '{"constructor":{"prototype":1},'), '/constructor'],
    ['a method of objects', JSON.stringify(usual).replace('{', '{"toString":1,'), '/toString'],
    ['a member twice', JSON.stringify(usual).replace('{', '{"amount_minor":1,'), '/amount_minor'],
    ['the same twice', JSON.stringify(usual).replace('{', '{"currency":"USD",'), '/currency'],
    ['twice, once by escapes', JSON.stringify(usual).replace('{', '{"\\u0074ype":"SALE",'), '/type'],
    ['a name of 1,000 characters', JSON.stringify({ ...usual, ['x'.repeat(1_000)]: 1 }), ''],
    ['a half character as a name', JSON.stringify(usual).replace('{', '{"\\ud800":1,'), ''],
    ...ITEM_MEMBERS.map((member) => {
      const { [member]: _, ...others } = usual;
      return [`without ${member}`, JSON.stringify(others), `/${member}`];
    }),
    ...ITEM_MEMBERS.flatMap((member) =>
      ['null', 'true', '[]', '{}', '{"$gt":0}', '["a"]', member === 'amount_minor' ? '"1250"' : '17'].map((value) => [
        `${member} as ${value}`,
        written(member, value),
        `/${member}`,
      ]),
    ),
    ['type as sale', written('type', '"sale"'), '/type'],
    ['no type', written('type', '""'), '/type'],
    ['type with a NUL', written('type', '"SALE\\u0000"'), '/type'],
    ['currency as usd', written('currency', '"usd"'), '/currency'],
    ['a currency that there is not', written('currency', '"ABC"'), '/currency'],
    ['gold', written('currency', '"XAU"'), '/currency'],
    ['currency with a NUL', written('currency', '"USD\\u0000"'), '/currency'],
  ])('ERR_MALFORMED_ITEM: %s', (_, text, pointer) => {
    expect(codeAndPointer(read(text))).toEqual(['ERR_MALFORMED_ITEM', pointer]);
  });

  const texts = [
    ['item_id', 128],
    ['merchant_id', 64],
    ['external_transaction_id', 128],
    ['account_id', 64],
  ] as const;

  it.each(texts)('ERR_INVALID_TEXT: %s', (member, lengthMax) => {
    for (const [value, valid] of [
      ['x'.repeat(lengthMax), true],
      ['x'.repeat(lengthMax + 1), false],
      ['', false],
      ['b\0', false],
      ['b\ud800', false],
      ['\udc00b', false],
      ['\u{1f4b6}', true],
      ['é'.repeat(lengthMax), true],
    ] as const) {
      const pair = valid ? [undefined, undefined] : ['ERR_INVALID_TEXT', `/${member}`];
      expect([value.slice(0, 4), ...codeAndPointer(readWith({ [member]: value }))]).toEqual([
        value.slice(0, 4),
        ...pair,
      ]);
    }
  });

  it('ERR_INVALID_TEXT: an item longer than any other body, which is not looked into', () => {
    const nested = (characters: number): string => `{"a":[${' '.repeat(characters - '{"a":[]}'.length)}]}`;
    expect(codeAndPointer(read(nested(ITEM_CHARACTERS_MAX)))).toEqual(['ERR_MALFORMED_ITEM', '/a']);
    expect(codeAndPointer(read(nested(ITEM_CHARACTERS_MAX + 1)))).toEqual(['ERR_INVALID_TEXT', '']);
    expect(codeAndPointer(readWith({ external_transaction_id: 'x'.repeat(1_000_000) }))).toEqual([
      'ERR_INVALID_TEXT',
      '/external_transaction_id',
    ]);
  });

  it('ERR_INVALID_TEXT: an instant with a NUL, which no text may hold', () => {
    expect(codeAndPointer(readWith({ occurred_at: '2026-11-30T12:00:00Z\0' }))).toEqual([
      'ERR_INVALID_TEXT',
      '/occurred_at',
    ]);
  });

  it('ERR_INVALID_MERCHANT_ID: a colon, which would make two keys one', () => {
    expect(codeAndPointer(readWith({ merchant_id: 'acme:eu' }))).toEqual(['ERR_INVALID_MERCHANT_ID', '/merchant_id']);
    expect(readWith({ external_transaction_id: 'eu:1' }).fault).toBeNull();
  });

  it('ERR_FORBIDDEN: a merchant outside the claim', () => {
    const caller = { ...anybody, merchants: new Set(['mer_demo_0002']) };
    expect(codeAndPointer(readWith({}, caller))).toEqual(['ERR_FORBIDDEN', '/merchant_id']);
    expect(readWith({ merchant_id: 'mer_demo_0002' }, caller).fault).toBeNull();
  });

  it.each(['0', '-0', '-1', '1.0', '1.5', '1e2', '1E2', '1e-2', '12e0', '1.0000000000000000001', '0.1', '1e400'])(
    'ERR_INVALID_AMOUNT: %s',
    (amount) => {
      expect(codeAndPointer(read(written('amount_minor', amount)))).toEqual(['ERR_INVALID_AMOUNT', '/amount_minor']);
    },
  );

  it('ERR_INVALID_AMOUNT: beyond 2^53 − 1, by its digits and not by what a parser makes of them', () => {
    const amount = (text: string): number | string | undefined => {
      const { item, fault } = read(written('amount_minor', text));
      return item?.amountMinor ?? fault?.code;
    };
    expect(amount('1')).toBe(1);
    expect(amount('9007199254740990')).toBe(9_007_199_254_740_990);
    expect(amount('9007199254740991')).toBe(9_007_199_254_740_991);
    for (const text of ['9007199254740992', '9007199254740993', '9223372036854775808', '9'.repeat(400)]) {
      expect(amount(text)).toBe('ERR_INVALID_AMOUNT');
    }
  });

  it('ERR_INVALID_TIMESTAMP', () => {
    for (const instant of ['2026-11-30T12:00:00', '2026-02-30T00:00:00Z', '9999-12-31T00:00:00Z', 'infinity', '']) {
      expect(codeAndPointer(readWith({ occurred_at: instant }))).toEqual(['ERR_INVALID_TIMESTAMP', '/occurred_at']);
    }
  });

  it('the account is a matter of state: whatever it is called, its form is right', () => {
    expect(readWith({ account_id: 'CLEARING-USD' }).fault).toBeNull();
  });
});

describe('of several faults the first in the contract’s order is told', () => {
  const faults: readonly (readonly [string, object])[] = [
    ['ERR_MALFORMED_ITEM', { type: 'GIFT' }],
    ['ERR_INVALID_TEXT', { external_transaction_id: 'b\0' }],
    ['ERR_INVALID_MERCHANT_ID', { merchant_id: 'acme:eu' }],
    ['ERR_FORBIDDEN', {}],
    ['ERR_INVALID_AMOUNT', { amount_minor: 0 }],
    ['ERR_INVALID_TIMESTAMP', { occurred_at: 'now' }],
  ];

  it('whichever of them come together', () => {
    const nobody = { ...anybody, merchants: new Set<string>() };
    fc.assert(
      fc.property(fc.subarray([...faults], { minLength: 1 }), (chosen) => {
        const changes = Object.assign({}, ...chosen.map(([, change]) => change)) as object;
        const caller = chosen.some(([code]) => code === 'ERR_FORBIDDEN') ? nobody : anybody;
        expect(readWith(changes, caller).fault?.code).toBe(chosen[0]?.[0]);
      }),
    );
  });
});

describe('the item’s own id comes back with its fault', () => {
  it.each([
    ['as it is', { item_id: 'tx_1', amount_minor: 0 }, 'tx_1'],
    ['with an unknown member beside it', { item_id: 'tx_1', note: 1 }, 'tx_1'],
    ['not where it is no text', { item_id: 17 }, null],
    ['not where it is too long', { item_id: 'x'.repeat(129) }, null],
    ['not where it could not be stored', { item_id: 'b\0' }, null],
  ])('%s', (_, changes, itemId) => {
    expect(readWith(changes).itemId).toBe(itemId);
  });
});

describe('the short way and the long way', () => {
  /** Characters that matter to JSON, to PostgreSQL or to encodings. */
  const text = fc.string({
    unit: fc.oneof(
      fc.constantFrom('"', '\\', '/', '\n', '\0', '\ud800', '\u2028', 'é', '\u{1f4b6}', ':', '{', '}'),
      fc.string({ minLength: 1, maxLength: 1 }),
    ),
    maxLength: 12,
  });
  const item = fc.record({
    item_id: text,
    merchant_id: text,
    external_transaction_id: text,
    account_id: text,
    type: fc.constantFrom('SALE', 'REFUND', 'sale'),
    amount_minor: fc.oneof(fc.maxSafeNat(), fc.integer(), fc.double(), fc.constant(Number.MAX_SAFE_INTEGER)),
    currency: fc.constantFrom('USD', 'JPY', 'usd'),
    occurred_at: fc.constantFrom('2026-11-30T12:00:00Z', '2026-11-30T12:00:00'),
  });
  const order = fc.shuffledSubarray([...ITEM_MEMBERS], { minLength: ITEM_MEMBERS.length });

  it('say the same of every item: an escape that changes nothing forces the long one', () => {
    fc.assert(
      fc.property(item, order, fc.constantFrom('', ' ', '\n\t'), (value, names, space) => {
        const short = `{${names.map((name) => `${space}"${name}"${space}:${space}${JSON.stringify(value[name])}`).join(`${space},`)}${space}}`;
        const long = short.replace('"item_id"', '"item\\u005fid"');
        expect(read(short)).toEqual(read(long));
      }),
      { numRuns: 2_000 },
    );
  });

  it('take what JSON.parse takes, and give what it gives', () => {
    fc.assert(
      fc.property(item, order, (value, names) => {
        const ordered = Object.fromEntries(names.map((name) => [name, value[name]]));
        const { item: found } = read(JSON.stringify(ordered));
        if (found === null) return;
        const { merchantId, externalTransactionId, accountId, type, amountMinor, currency } = found;
        expect([merchantId, externalTransactionId, accountId, type, amountMinor, currency]).toEqual([
          value.merchant_id,
          value.external_transaction_id,
          value.account_id,
          value.type,
          value.amount_minor,
          value.currency,
        ]);
      }),
      { numRuns: 2_000 },
    );
  });
});
