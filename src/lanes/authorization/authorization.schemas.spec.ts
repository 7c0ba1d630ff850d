import { z } from 'zod';
import { authorizationAnswerSchema, createAuthorizationSchema, findAuthorizationQuery } from './authorization.schemas';

const usual = { merchant_id: 'mer_demo_0001', card_token: 'card_demo_usd_0001', amount_minor: 1234, currency: 'USD' };

/** The members that are at fault. */
function faults(body: unknown): string[] {
  const result = createAuthorizationSchema.safeParse(body);
  return result.success ? [] : result.error.issues.map(({ path, code }) => path.join('/') || code);
}

describe('a request for an authorization', () => {
  it.each([
    ['as in the contract', {}],
    ['1 minor unit', { amount_minor: 1 }],
    ['2^53 - 1', { amount_minor: Number.MAX_SAFE_INTEGER }],
    ['no decimals', { currency: 'JPY' }],
    ['three decimals', { currency: 'KWD' }],
    ['the longest names', { merchant_id: 'm'.repeat(64), card_token: 'c'.repeat(128) }],
    ['a name in any script', { merchant_id: 'händler 😀' }],
    ['a card token with a colon', { card_token: 'tok:1' }],
  ])('may be: %s', (_, changes) => {
    expect(faults({ ...usual, ...changes })).toEqual([]);
  });

  it.each([
    ['nothing to pay', { amount_minor: 0 }, 'amount_minor'],
    ['less than nothing', { amount_minor: -1 }, 'amount_minor'],
    ['a fraction', { amount_minor: 1.5 }, 'amount_minor'],
    ['2^53', { amount_minor: 2 ** 53 }, 'amount_minor'],
    ['an infinite amount', { amount_minor: Infinity }, 'amount_minor'],
    ['an amount as text', { amount_minor: '100' }, 'amount_minor'],
    ['no amount', { amount_minor: undefined }, 'amount_minor'],
    ['an amount of null', { amount_minor: null }, 'amount_minor'],
    ['a currency in lower case', { currency: 'usd' }, 'currency'],
    ['a currency that is none', { currency: 'ABC' }, 'currency'],
    ['a currency without a minor unit', { currency: 'XAU' }, 'currency'],
    ['a number for a currency', { currency: 840 }, 'currency'],
    ['an empty merchant', { merchant_id: '' }, 'merchant_id'],
    ['a merchant that is too long', { merchant_id: 'm'.repeat(65) }, 'merchant_id'],
    ['a merchant with a colon', { merchant_id: 'a:b' }, 'merchant_id'],
    ['a merchant with NUL', { merchant_id: 'a\0b' }, 'merchant_id'],
    ['a merchant with half a character', { merchant_id: 'a\ud800' }, 'merchant_id'],
    ['an empty card', { card_token: '' }, 'card_token'],
    ['a card that is too long', { card_token: 'c'.repeat(129) }, 'card_token'],
    ['a card with NUL', { card_token: '\0' }, 'card_token'],
    ['a card with half a character', { card_token: '\udc00' }, 'card_token'],
    ['an unknown member', { note: 'x' }, 'unrecognized_keys'],
  ])('may not be: %s', (_, changes, member) => {
    expect(faults({ ...usual, ...changes })).toEqual([member]);
  });

  it('is told all its faults at once', () => {
    expect(faults({ amount_minor: 0, currency: 'x' }).sort()).toEqual([
      'amount_minor',
      'card_token',
      'currency',
      'merchant_id',
    ]);
    expect([faults(null), faults([]), faults('x')].flat()).toHaveLength(3);
  });
});

it('a look-up takes one key of 1 to 255 printable ASCII characters and nothing else', () => {
  const valid = (query: unknown): boolean => findAuthorizationQuery.safeParse(query).success;
  expect(['a', ' ~', 'k'.repeat(255)].every((key) => valid({ idempotency_key: key }))).toBe(true);
  expect(['', 'k'.repeat(256), 'ü', 'a\n', 'a\t'].some((key) => valid({ idempotency_key: key }))).toBe(false);
  expect([{}, { idempotency_key: ['a', 'b'] }, { idempotency_key: 'a', limit: '1' }].some(valid)).toBe(false);
});

it('all schemas can be written as JSON Schema, which the API reference is made from', () => {
  for (const schema of [createAuthorizationSchema, findAuthorizationQuery, authorizationAnswerSchema]) {
    expect(z.toJSONSchema(schema, { target: 'openapi-3.0' })).toMatchObject({ additionalProperties: false });
  }
});
