import { createEvaluationSchema, occurredAtFault } from './fraud.schemas';

const usual = { merchant_id: 'mer_a', card_token: 'card_a', amount_minor: 100, currency: 'USD', country: 'US' };
const NOW_MS = Date.parse('2026-11-30T12:00:00Z');
const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

function faultsOf(changes: object): string[] {
  const { error } = createEvaluationSchema.safeParse({ ...usual, ...changes });
  return (error?.issues ?? []).map(({ path }) => path.join('.'));
}

describe('the moment of a payment', () => {
  it.each([
    [5 * MINUTE_MS - 1, null],
    [5 * MINUTE_MS, null],
    [5 * MINUTE_MS + 1, 'must not be more than 5 minutes ahead'],
    [-30 * DAY_MS + 1, null],
    [-30 * DAY_MS, null],
    [-30 * DAY_MS - 1, 'must not be more than 30 days ago'],
  ])('%d ms from now: %s', (fromNowMs, fault) => {
    expect(occurredAtFault(new Date(NOW_MS + fromNowMs).toISOString(), NOW_MS)).toBe(fault);
  });

  it.each([
    '1970-01-01T00:00:00Z',
    '9999-12-31T23:59:59Z',
    '+275760-09-13T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-11-30',
    '2026-11-30T12:00:00',
    '2026-11-30 12:00:00Z',
    '30.11.2026',
    'now',
    'infinity',
    '',
    1_764_504_000,
    null,
  ])('%p is none', (occurred_at) => {
    expect(faultsOf({ occurred_at })).toEqual(['occurred_at']);
  });

  it('may be left out, or have any offset', () => {
    expect(faultsOf({})).toEqual([]);
    const local = new Date(Date.now() + 2 * 60 * MINUTE_MS).toISOString().replace('Z', '+02:00');
    expect(faultsOf({ occurred_at: local })).toEqual([]);
  });
});

describe('a request', () => {
  it.each(['US', 'DE', 'KW'])('may come from %s', (country) => expect(faultsOf({ country })).toEqual([]));

  it.each(['us', 'USA', 'UK', 'EU', 'XX', 'U', '', ' US', 'U\u0000', null, 1])('may not come from %p', (country) => {
    expect(faultsOf({ country })).toEqual(['country']);
  });

  it.each([
    [{ merchant_id: 'a:b' }, 'merchant_id'],
    [{ merchant_id: '' }, 'merchant_id'],
    [{ merchant_id: 'x'.repeat(65) }, 'merchant_id'],
    [{ card_token: 'a\u0000' }, 'card_token'],
    [{ card_token: '\ud800' }, 'card_token'],
    [{ card_token: 'x'.repeat(129) }, 'card_token'],
    [{ amount_minor: 0 }, 'amount_minor'],
    [{ amount_minor: 2 ** 53 }, 'amount_minor'],
    [{ amount_minor: '1' }, 'amount_minor'],
    [{ currency: 'XXX' }, 'currency'],
    [{ currency: 'usd' }, 'currency'],
  ])('%j is a fault of %s', (changes, path) => {
    expect(faultsOf(changes)).toEqual([path]);
  });

  it('has no other members', () => {
    expect(createEvaluationSchema.safeParse({ ...usual, score: 0 }).success).toBe(false);
  });
});
