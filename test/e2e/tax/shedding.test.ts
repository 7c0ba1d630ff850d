import { randomUUID } from 'node:crypto';
import { laneTable } from '../../../config/lanes';
import { order, TaxServer } from '../../fixtures/tax-server';
import { type Answer, eventually, expectProblem } from '../../support/http';

const { permits } = laneTable.tax.bulkhead;
let tax: TaxServer;

beforeAll(async () => {
  tax = await TaxServer.start();
});

afterEach(async () => {
  await tax.simulator.reset();
  await tax.setFaults({});
  await tax.inUse(0);
});

function hold(count: number): Promise<Answer>[] {
  return Array.from({ length: count }, () => tax.quote());
}

describe('test_tax_dependency_brownout: 15 calls that the provider does not answer', () => {
  it('hold 15 permits and no connection; the 16th is refused with its certified estimate', async () => {
    await tax.simulator.control({ mode: 'hang' });
    const held = hold(permits - 1);
    await tax.inUse(permits - 1);
    held.push(...hold(1));
    await tax.inUse(permits);
    expect((await tax.simulator.state()).in_flight).toBe(permits);
    expect((await tax.lane()).pool).toMatchObject({ busy: 0, waiting: 0 });

    const { calls } = await tax.simulator.state();
    const refused = await tax.quote();
    expectProblem(refused, 503, 'ERR_TAX_BULKHEAD_SATURATED');
    expect(refused.headers.get('Retry-After')).toBe('5');
    expect(refused.body['compensation']).toEqual({
      id: expect.stringMatching(/^quo_[0-9A-Z]{26}$/),
      source: 'CACHED_COMPENSATION',
      tax_minor: expect.any(Number),
      rate: expect.stringMatching(/^0\.\d+$/),
      shipping_tax_minor: expect.any(Number),
      lines: order.lines.map(({ id }) => ({ id, tax_minor: expect.any(Number), rate: expect.any(String) })),
      jurisdiction: expect.stringMatching(/^US-NY/),
      rate_scope: expect.stringMatching(/^(region|postal_code)$/),
      certificate_id: expect.stringMatching(/./),
      tax_code_ignored: false,
    });
    expect((await tax.simulator.state()).calls).toBe(calls);

    const answers = await Promise.all(held);
    for (const answer of answers) {
      expectProblem(answer, 503, 'ERR_TAX_PROVIDER_UNAVAILABLE');
      expect(answer.body['compensation']).toMatchObject({ source: 'CACHED_COMPENSATION' });
    }
    await tax.inUse(0);
    expect((await tax.simulator.state()).in_flight).toBe(0);
  });

  it('with Prefer: handling=lenient the estimate is the answer', async () => {
    await tax.simulator.control({ mode: 'hang' });
    const held = hold(permits);
    await tax.inUse(permits);
    const lines = [{ id: '1', amount_minor: 1_000, tax_code: '20010' }];
    const headers = { Prefer: 'respond-async, Handling="lenient"; x=1' };
    const lenient = await tax.quote({ lines }, { headers });
    expect(lenient.status).toBe(200);
    expect(lenient.headers.get('Preference-Applied')).toBe('handling=lenient');
    expect(lenient.body).toMatchObject({ source: 'CACHED_COMPENSATION', tax_code_ignored: true });
    const strict = await tax.quote({}, { headers: { Prefer: 'handling=strict, handling=lenient' } });
    expectProblem(strict, 503, 'ERR_TAX_BULKHEAD_SATURATED');
    // Reading takes a permit as well, and has nothing that could be estimated.
    const read = await tax.read('quo_00000000000000000000000000');
    expectProblem(read, 503, 'ERR_TAX_BULKHEAD_SATURATED');
    expect(read.body).not.toHaveProperty('compensation');
    await Promise.all(held);
  });

  it('refuses a hundred more within milliseconds of reading them, and counts each once', async () => {
    await tax.simulator.control({ mode: 'hang' });
    const held = hold(permits);
    await tax.inUse(permits);
    const full = 'bulkhead_rejection_total{bulkhead="bulkhead_tax_calc",reason="full"}';
    const shed = 'bulkhead_shed_seconds_count{bulkhead="bulkhead_tax_calc"}';
    const before = [await tax.metric(full), await tax.metric(shed)];
    const refused = await Promise.all(hold(100));
    expect(refused.map(({ status }) => status)).toEqual(Array.from({ length: 100 }, () => 503));
    expect([await tax.metric(full), await tax.metric(shed)]).toEqual(before.map((count) => count + 100));
    await Promise.all(held);
  });
});

it('a client that goes takes its call along, down to the provider’s socket', async () => {
  await tax.simulator.control({ mode: 'hang' });
  const leaving = new AbortController();
  const gone = tax.quote({}, { signal: leaving.signal }).catch(() => 'gone');
  await tax.inUse(1);
  const { aborted } = await tax.simulator.state();
  leaving.abort();
  expect(await gone).toBe('gone');
  // Long before the provider's limit of 4 s, and without any time-out.
  await tax.inUse(0, 2_000);
  await eventually('the provider sees it', async () => (await tax.simulator.state()).aborted === aborted + 1, 1_000);
});

it('a connection that the provider cuts gives its permit back at once', async () => {
  await tax.simulator.control({ mode: 'reset', latency_ms: 300 });
  const answers = await Promise.all(hold(permits));
  for (const answer of answers) expectProblem(answer, 503, 'ERR_TAX_PROVIDER_UNAVAILABLE');
  expect(Math.max(...answers.map(({ elapsedMs }) => elapsedMs))).toBeLessThan(2_000);
});

it('a body without end is broken off at the limit of the call', async () => {
  await tax.simulator.control({ mode: 'slow_body' });
  const answer = await tax.quote();
  expectProblem(answer, 503, 'ERR_TAX_PROVIDER_UNAVAILABLE');
  await eventually('its connection is closed', async () => (await tax.simulator.state()).in_flight === 0, 1_000);
});

it('recovers as soon as the provider answers again', async () => {
  await tax.simulator.control({ latency_ms: 8_000 });
  const held = hold(permits);
  await tax.inUse(permits);
  await tax.simulator.reset();
  await Promise.all(held);
  const after = await Promise.all(hold(permits));
  expect(after.map(({ status }) => status)).toEqual(Array.from({ length: permits }, () => 200));
});

it('a key whose first try was given an estimate asks the provider at its next', async () => {
  const idempotencyKey = randomUUID();
  await tax.simulator.control({ error_rate: 1 });
  const first = await tax.quote({}, { idempotencyKey });
  const second = await tax.quote({}, { idempotencyKey });
  const idOf = ({ body }: Answer): unknown => (body['compensation'] as { id: string }).id;
  expect(idOf(second)).toBe(idOf(first));
  await tax.simulator.reset();
  const third = await tax.quote({}, { idempotencyKey });
  expect([third.status, third.body['source']]).toEqual([200, 'PROVIDER']);
  expect(third.headers.get('idempotency-replayed')).toBeNull();
  expect(third.body['id']).not.toBe(idOf(first));
});
