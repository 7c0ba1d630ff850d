import { setTimeout as delay } from 'node:timers/promises';
import { eventually, send } from '../../support/http';
import { OPERATOR_PASSWORD, startServer } from '../../support/server-process';
import { createTestDatabase } from '../../support/test-database';
import { createTestIdentity } from '../../support/token';

const basic = `Basic ${Buffer.from(`operator:${OPERATOR_PASSWORD}`).toString('base64')}`;

function item(name: string) {
  return {
    item_id: name,
    merchant_id: 'mer_demo_0001',
    external_transaction_id: name,
    account_id: 'ACC-0001',
    type: 'SALE',
    amount_minor: 100,
    currency: 'USD',
    occurred_at: '2026-11-30T10:00:00Z',
  };
}

it('SIGTERM while items wait in the buffer and a flush is out: all are answered after their commit, and it exits 0', async () => {
  const database = await createTestDatabase();
  const identity = await createTestIdentity();
  const bearer = await identity.bearer();
  const server = await startServer({
    database,
    identity,
    environment: { PAYMENT_ROLE: 'ledger', PAYMENT_FAULTS: '1' },
  });
  // Each flush is slowed, so that one is certainly out and later items certainly wait when the signal comes.
  await send(`${server.url}/faults/ledger`, {
    method: 'PUT',
    body: { latency_ms: 700 },
    headers: { Authorization: basic },
  });
  const batch = (name: string) =>
    send(`${server.url}/v1/ledger/batches`, { bearer, body: { items: [1, 2, 3].map((n) => item(`${name} ${n}`)) } });
  const first = batch('first');
  await eventually('items are held', async () =>
    (await send(`${server.url}/metrics`)).text.includes('ledger_buffer_items 3'),
  );
  await delay(30);
  const second = batch('second');
  await eventually('more are held', async () =>
    (await send(`${server.url}/metrics`)).text.includes('ledger_buffer_items 6'),
  );
  server.signal('SIGTERM');
  for (const answer of [await first, await second]) {
    expect(answer.status).toBe(207);
    expect(answer.body).toMatchObject({ total_items: 3, successful_count: 3, failed_count: 0, duplicate_count: 0 });
  }
  expect(await server.exit).toEqual({ code: 0, signal: null });
  const owner = await database.ownerClient('ledger');
  const { rows } = await owner.query<{ count: string }>(`SELECT count(*) FROM ledger_journal`);
  expect(rows[0]?.count).toBe('6');
});

it('the lane’s state is that of its buffer, not of its flushes', async () => {
  const database = await createTestDatabase();
  const identity = await createTestIdentity();
  const bearer = await identity.bearer();
  const server = await startServer({
    database,
    identity,
    environment: { PAYMENT_ROLE: 'ledger', PAYMENT_FAULTS: '1' },
  });
  await send(`${server.url}/faults/ledger`, {
    method: 'PUT',
    body: { latency_ms: 800 },
    headers: { Authorization: basic },
  });
  // 4,500 items are 8 flushes, all there may be, and 500 that wait.
  const sent = send(`${server.url}/v1/ledger/batches`, {
    bearer,
    body: { items: Array.from({ length: 4_500 }, (_, n) => item(`busy ${n}`)) },
  });
  const ingest = async () => {
    const { body } = await send(`${server.url}/health`);
    const lanes = body['lanes'] as Record<string, { bulkheads: Record<string, unknown>[] }>;
    return lanes['ledger']?.bulkheads[0] ?? {};
  };
  await eventually('all flushes are out', async () => Number((await ingest())['in_use']) === 8);
  expect(await ingest()).toMatchObject({ name: 'bulkhead_ledger_ingest', state: 'NORMAL', queued: 500 });
  expect((await sent).body).toMatchObject({ successful_count: 4_500 });
  const metrics = (await send(`${server.url}/metrics`)).text;
  expect(metrics).toMatch(/^ledger_flush_total\{trigger="size"\} 9$/m);
  expect(metrics).toMatch(/^ledger_items_total\{outcome="committed"\} 4500$/m);
  expect(metrics).toMatch(/^ledger_flush_size_sum 4500$/m);
  expect(metrics).toMatch(/^ledger_flush_seconds_count 9$/m);
  expect(metrics).toMatch(/^bulkhead_state\{bulkhead="bulkhead_ledger_ingest",state="NORMAL"\} 1$/m);
  await server.kill();
});
