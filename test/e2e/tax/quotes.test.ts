import { randomUUID } from 'node:crypto';
import { order, TaxServer } from '../../fixtures/tax-server';
import { eventually, expectProblem } from '../../support/http';

let tax: TaxServer;

beforeAll(async () => {
  tax = await TaxServer.start();
});

beforeEach(() => tax.simulator.reset());

it('answers 200 with the members of the contract: lines and shipping each rounded half up, and their sum', async () => {
  const answer = await tax.quote();
  expect([answer.status, answer.body]).toEqual([
    200,
    {
      id: expect.stringMatching(/^quo_[0-9A-Z]{26}$/),
      source: 'PROVIDER',
      // 19.99, 5.01 and 7.99 at 8.875 %: 177.41, 44.46 and 70.91 cents.
      tax_minor: 177 + 44 + 71,
      rate: '0.08875',
      shipping_tax_minor: 71,
      lines: [
        { id: 'shirt', tax_minor: 177, rate: '0.08875' },
        { id: 'socks', tax_minor: 44, rate: '0.08875' },
      ],
      jurisdiction: 'US-NY',
    },
  ]);
  expect(answer.headers.get('idempotency-replayed')).toBeNull();
});

it.each([
  ['JPY, without decimals', 'JPY', { country: 'JP' }, 155, 16],
  ['USD, two', 'USD', { country: 'US', region: 'TX', postal_code: '77002' }, 1_000, 83],
  ['BHD, three', 'BHD', { country: 'BH' }, 1_235, 124],
  ['a country without regions', 'EUR', { country: 'DE', region: 'BY', postal_code: '80331' }, 150, 29],
  ['a province of Canada', 'CAD', { country: 'CA', region: 'QC' }, 10_000, 1_498],
  ['nothing for nothing', 'USD', { country: 'US', region: 'TX' }, 0, 0],
  ['no tax where there is none', 'USD', { country: 'US', region: 'OR' }, 10_000, 0],
])('%s', async (_name, currency, ship_to, amount_minor, tax_minor) => {
  const { status, body } = await tax.quote({
    currency,
    ship_to,
    lines: [{ id: '1', amount_minor }],
    shipping_minor: 0,
  });
  expect([status, body['tax_minor'], body['source']]).toEqual([200, tax_minor, 'PROVIDER']);
});

it('gives the first answer again under its key, however the provider stands, and refuses another order', async () => {
  const idempotencyKey = randomUUID();
  const first = await tax.quote({}, { idempotencyKey });
  const { calls } = await tax.simulator.state();
  await tax.simulator.control({ mode: 'hang' });
  const again = await tax.quote({}, { idempotencyKey });
  expect([again.status, again.body]).toEqual([200, first.body]);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect((await tax.simulator.state()).calls).toBe(calls);
  const other = await tax.quote({ shipping_minor: 1 }, { idempotencyKey });
  expectProblem(other, 422, 'ERR_IDEMPOTENCY_KEY_REUSED');
});

it('shows a quote to the caller that was given it, and to nobody else', async () => {
  const { body } = await tax.quote();
  const own = await tax.read(body['id']);
  expect([own.status, own.body]).toEqual([200, body]);
  const others = await tax.identity.bearer({ subject: 'another-shop' });
  expectProblem(await tax.read(body['id'], others), 404, 'ERR_NOT_FOUND');
  expectProblem(await tax.read('quo_00000000000000000000000000'), 404, 'ERR_NOT_FOUND');
  expectProblem(await tax.read('nothing'), 404, 'ERR_NOT_FOUND');
});

it('keeps two callers’ keys apart', async () => {
  const idempotencyKey = randomUUID();
  const mine = await tax.quote({}, { idempotencyKey });
  const theirs = await tax.quote(
    { shipping_minor: 5 },
    {
      idempotencyKey,
      bearer: await tax.identity.bearer({ subject: 'another-shop' }),
    },
  );
  expect([mine.status, theirs.status]).toEqual([200, 200]);
  expect(theirs.body['id']).not.toBe(mine.body['id']);
});

it('names every fault of an order by its pointer', async () => {
  const answer = await tax.quote({
    currency: 'XXX',
    ship_to: { country: 'us', region: 'New York', city: 'Albany' },
    lines: [
      { id: '1', amount_minor: -1 },
      { id: '1', amount_minor: 1.5, quantity: 2 },
    ],
    shipping_minor: '7',
  });
  expectProblem(answer, 400, 'ERR_VALIDATION');
  const pointers = (answer.body['errors'] as { pointer: string }[]).map(({ pointer }) => pointer).sort();
  expect(pointers).toEqual([
    '/currency',
    '/lines/0/amount_minor',
    '/lines/1/amount_minor',
    '/lines/1/quantity',
    '/ship_to/city',
    '/ship_to/country',
    '/ship_to/region',
    '/shipping_minor',
  ]);
  expectProblem(await tax.quote({ lines: [] }), 400, 'ERR_VALIDATION');
  const twice = await tax.quote({ lines: [order.lines[0], order.lines[0]] });
  expect(twice.body['errors']).toEqual([{ pointer: '/lines', detail: 'ids must be unique' }]);
  const most = { id: '1', amount_minor: Number.MAX_SAFE_INTEGER };
  expectProblem(await tax.quote({ lines: [most, { id: '2', amount_minor: 1 }] }), 400, 'ERR_VALIDATION');
  expectProblem(await tax.quote({}, { idempotencyKey: null }), 400, 'ERR_BACKOFF_HEADERS_REQUIRED');
});

it.each([
  ['a page, an error called a success, half a document', { mode: 'garbage' }],
  ['a reset', { mode: 'reset' }],
  ['an error', { error_rate: 1 }],
])('%s is no tax: 503 with a certified estimate, and the same key runs again', async (_name, fault) => {
  const idempotencyKey = randomUUID();
  await tax.simulator.control(fault);
  for (let kind = 0; kind < 3; kind += 1) {
    const failed = await tax.quote();
    expectProblem(failed, 503, 'ERR_TAX_PROVIDER_UNAVAILABLE');
    expect(failed.body['compensation']).toMatchObject({ source: 'CACHED_COMPENSATION' });
  }
  expectProblem(await tax.quote({}, { idempotencyKey }), 503, 'ERR_TAX_PROVIDER_UNAVAILABLE');
  await tax.simulator.reset();
  const again = await tax.quote({}, { idempotencyKey });
  expect([again.status, again.body['source']]).toEqual([200, 'PROVIDER']);
});

it('has no estimate for a place that nobody certified: never a default', async () => {
  await tax.simulator.control({ error_rate: 1 });
  for (const ship_to of [{ country: 'US' }, { country: 'CA' }, { country: 'US', region: 'ZZ' }, { country: 'ZZ' }]) {
    const answer = await tax.quote({ ship_to });
    expectProblem(answer, 503, 'ERR_TAX_PROVIDER_UNAVAILABLE');
    expect(answer.body).not.toHaveProperty('compensation');
  }
});

it('is degraded, and ready, while the provider fails', async () => {
  await tax.simulator.control({ error_rate: 1 });
  for (let call = 0; call < 3; call += 1) await tax.quote();
  await eventually('degraded', async () => (await tax.lane()).status === 'degraded');
  expect((await fetch(`${tax.server.url}/health/ready`)).status).toBe(200);
  await tax.simulator.reset();
  await tax.quote();
  await eventually('well again', async () => (await tax.lane()).status === 'ok');
});
