import { TaxServer } from '../../fixtures/tax-server';
import { eventually, expectProblem } from '../../support/http';

let tax: TaxServer;

beforeAll(async () => {
  tax = await TaxServer.start({ LANE_TAX_EXECUTION_MS: '700', LANE_TAX_POOL: '1' });
});

afterEach(async () => {
  await tax.setFaults({});
  await tax.simulator.reset();
  await tax.inUse(0);
});

it('the execution limit: 504 with an estimate, and the permit is kept until the work has ended', async () => {
  await tax.setFaults({ hang: true });
  const answer = await tax.quote();
  expectProblem(answer, 504, 'ERR_EXECUTION_TIMEOUT');
  expect(answer.body['compensation']).toMatchObject({ source: 'CACHED_COMPENSATION', jurisdiction: 'US-NY' });
  expect(await tax.bulkhead()).toMatchObject({ in_use: 1, zombies: 1 });
  const lenient = await tax.quote({}, { headers: { Prefer: 'handling=lenient' } });
  expect([lenient.status, lenient.body['source']]).toEqual([200, 'CACHED_COMPENSATION']);
});

it('the execution limit aborts the call of the provider, down to its socket', async () => {
  await tax.simulator.control({ mode: 'hang' });
  expectProblem(await tax.quote(), 504, 'ERR_EXECUTION_TIMEOUT');
  await eventually('the provider is left', async () => (await tax.simulator.state()).in_flight === 0, 1_000);
});

it('a table that stays locked: 503 with an estimate, for the order and for nobody’s fault', async () => {
  const owner = await tax.database.ownerClient('tax');
  await owner.query('BEGIN');
  await owner.query('LOCK TABLE quote_claims IN ACCESS EXCLUSIVE MODE');
  const answer = await tax.quote();
  await owner.query('ROLLBACK');
  expectProblem(answer, 503, 'ERR_DATABASE_UNAVAILABLE');
  expect(answer.body['compensation']).toMatchObject({ source: 'CACHED_COMPENSATION' });
});

it('no connection within 50 ms: 503 with an estimate', async () => {
  const owner = await tax.database.ownerClient('tax');
  await owner.query('BEGIN');
  await owner.query('LOCK TABLE quote_claims IN ACCESS EXCLUSIVE MODE');
  const first = tax.quote();
  await eventually('the one connection is taken', async () => (await tax.lane()).pool.busy === 1);
  const second = await tax.quote();
  await owner.query('ROLLBACK');
  await first;
  expectProblem(second, 503, 'ERR_DATABASE_POOL_EXHAUSTED');
  expect(second.body['compensation']).toMatchObject({ source: 'CACHED_COMPENSATION' });
});
