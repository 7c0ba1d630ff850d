import { ADMISSION_ORDER, HEADERS_ORDER } from './pipeline';
import { type EdgeServer, startEdgeServer } from './testing/edge-server';

interface Wrong {
  method: 'POST' | 'DELETE';
  path: string;
  authorization?: string;
  'idempotency-key'?: string;
  'retry-attempt'?: string;
  'content-type': string;
  body: string;
}

describe('the order of refusals (contract 4.1)', () => {
  let server: EdgeServer;
  beforeAll(async () => {
    server = await startEdgeServer();
  });
  afterAll(() => server.close());

  it('is this list, before the body and after it', () => {
    expect(HEADERS_ORDER).toEqual([
      'draining',
      'route',
      'identity',
      'scope',
      'retry_headers',
      'retry_guard',
      'declared_length',
      'ledger_bounds',
    ]);
    expect(ADMISSION_ORDER).toEqual(['merchant', 'retry_guard_content']);
  });

  it('a request that is wrong in every way gets exactly the first refusal, and the next one when that is mended', async () => {
    const huge = JSON.stringify({ merchant_id: 'mer_2', note: 'x'.repeat(70_000) });
    const wrong: Wrong = { method: 'DELETE', path: '/v1/orders', 'content-type': 'text/plain', body: huge };
    const draining = await startEdgeServer();
    draining.draining.begin();
    const mends: [string, number, (request: Wrong) => void][] = [
      ['ERR_METHOD_NOT_ALLOWED', 405, (request) => (request.method = 'POST')],
      ['ERR_UNAUTHENTICATED', 401, (request) => (request.authorization = 'Bearer shop~tax~mer_1')],
      ['ERR_FORBIDDEN', 403, (request) => (request.authorization = 'Bearer shop~orders~mer_1')],
      ['ERR_BACKOFF_HEADERS_REQUIRED', 400, (request) => (request['idempotency-key'] = 'k')],
      ['ERR_PAYLOAD_TOO_LARGE', 413, (request) => (request.body = '{"merchant_id":')],
      ['ERR_UNSUPPORTED_MEDIA_TYPE', 415, (request) => (request['content-type'] = 'application/json')],
      ['ERR_MALFORMED_JSON', 400, (request) => (request.body = '{"merchant_id":"mer_2"}')],
      ['ERR_VALIDATION', 400, (request) => (request.body = '{"merchant_id":"mer_2","amount_minor":1}')],
      ['ERR_FORBIDDEN', 403, (request) => (request.body = '{"merchant_id":"mer_1","amount_minor":1}')],
    ];
    const send = async (on: EdgeServer): Promise<{ status: number; code: unknown }> => {
      const { method, path, body, ...headers } = wrong;
      const answer = await on.app.inject({ method, url: path, headers, payload: body });
      return { status: answer.statusCode, code: answer.json<{ code?: string }>().code };
    };
    expect(await send(draining)).toEqual({ status: 503, code: 'ERR_DRAINING' });
    await draining.close();

    for (const [code, status, mend] of mends) {
      expect(await send(server)).toEqual({ status, code });
      mend(wrong);
    }
    // All that is left to refuse it is a full lane.
    const { promise, resolve } = Promise.withResolvers<void>();
    server.work.current = { run: () => promise.then(() => ({})) };
    const running = [send(server), send(server), send(server)];
    expect(await send(server)).toEqual({ status: 429, code: 'ERR_ORDERS_SATURATED' });
    resolve();
    server.work.current = { run: (body) => body };
    await Promise.all(running);
    expect(await send(server)).toEqual({ status: 201, code: undefined });
  });

  it('a refused request never reaches the bulkhead', async () => {
    let runs = 0;
    server.work.current = { run: () => (runs += 1) };
    for (const payload of ['{', '[]', '{"merchant_id":"mer_1"}']) {
      await server.app.inject({
        method: 'POST',
        url: '/v1/orders',
        headers: { authorization: 'Bearer shop', 'idempotency-key': 'k', 'content-type': 'application/json' },
        payload,
      });
    }
    expect(runs).toBe(0);
    expect(server.bulkhead.snapshot().inUse).toBe(0);
  });
});
