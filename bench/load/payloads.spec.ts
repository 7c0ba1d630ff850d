import { authorizationPayloads, namedPayloads } from './payloads';

describe('payloads', () => {
  it('spread authorizations over the demo cards and merchants, each under a key of its own', () => {
    const make = authorizationPayloads('run');
    const drafts = Array.from({ length: 20_000 }, (_, index) => make(index));
    const bodies = drafts.map((draft) => JSON.parse(draft.body) as Record<string, string>);
    expect(new Set(drafts.map((draft) => draft.key)).size).toBe(20_000);
    expect(new Set(bodies.map((body) => body['card_token'])).size).toBe(1_000);
    expect(new Set(bodies.map((body) => body['merchant_id'])).size).toBe(50);
    expect(bodies.every((body) => /^card_demo_usd_(0\d{3}|1000)$/.test(body['card_token'] ?? ''))).toBe(true);
    expect(bodies.every((body) => /^mer_demo_00[0-5]\d$/.test(body['merchant_id'] ?? ''))).toBe(true);
  });

  it.each(Object.entries(namedPayloads))('%s gives the same requests in every run, but for the key', (_name, make) => {
    const [first, second] = [make('a'), make('b')];
    for (let index = 0; index < 100; index += 1) expect(first(index).body).toBe(second(index).body);
    expect(() => JSON.parse(first(100).body) as unknown).not.toThrow();
    expect(first(7).key).toBe('a-7');
  });
});
