import { order, TaxServer } from '../../fixtures/tax-server';
import { expectProblem } from '../../support/http';

/** The lane against a provider that refuses what TaxJar's reference says it refuses, and rounds as TaxJar does. */
let tax: TaxServer;

beforeAll(async () => {
  tax = await TaxServer.start({ TAX_PROVIDER_TOKEN: 'a-token' }, '--strict');
});

it.each([
  ['USD, with a ZIP', 'USD', { country: 'US', region: 'TX', postal_code: '77002' }, 1_000, 83],
  ['USD, with a ZIP+4', 'USD', { country: 'US', region: 'NY', postal_code: '10001-1234' }, 10_000, 888],
  ['CAD, without a postal code', 'CAD', { country: 'CA', region: 'QC' }, 10_000, 1_498],
  ['EUR, by country', 'EUR', { country: 'DE' }, 150, 29],
  ['JPY, which has no cents: 15.50 of them are 16', 'JPY', { country: 'JP' }, 155, 16],
  ['BHD, which has three decimals: 0.1235 was rounded to 0.12', 'BHD', { country: 'BH' }, 1_235, 120],
])('is answered in %s', async (_name, currency, ship_to, amount_minor, tax_minor) => {
  const { status, body } = await tax.quote({
    currency,
    ship_to,
    lines: [{ id: '1', amount_minor }],
    shipping_minor: 0,
  });
  expect([status, body['tax_minor'], body['source']]).toEqual([200, tax_minor, 'PROVIDER']);
});

it('an order to the US without a ZIP gets the state’s estimate, told why, and is no failure of the provider', async () => {
  const refused = 'tax_provider_call_seconds_count{outcome="refused"}';
  const before = await tax.metric(refused);
  for (let call = 1; call <= 5; call += 1) {
    const answer = await tax.quote({ ship_to: { country: 'US', region: 'NY' } });
    expectProblem(answer, 503, 'ERR_TAX_PROVIDER_UNAVAILABLE');
    expect(answer.body['detail']).toMatch(/needs the postal code/);
    expect(answer.body['compensation']).toMatchObject({ rate: '0.04', rate_scope: 'region', jurisdiction: 'US-NY' });
  }
  expect(await tax.metric(refused)).toBe(before + 5);
  expect((await tax.lane()).dependencies).toContainEqual(
    expect.objectContaining({ name: 'tax_provider', status: 'up' }),
  );
  const lenient = await tax.quote(
    { ship_to: { country: 'US', region: 'NY' } },
    { headers: { Prefer: 'handling=lenient' } },
  );
  expect([lenient.status, lenient.body['source']]).toEqual([200, 'CACHED_COMPENSATION']);
});

it('a ZIP of another state has neither a tax nor an estimate: one of the two is wrong', async () => {
  const answer = await tax.quote({ ship_to: { ...order.ship_to, region: 'CA' } });
  expectProblem(answer, 503, 'ERR_TAX_PROVIDER_UNAVAILABLE');
  expect(answer.body['detail']).toMatch(/check the country, the region and the postal code/);
  expect(answer.body).not.toHaveProperty('compensation');
});
