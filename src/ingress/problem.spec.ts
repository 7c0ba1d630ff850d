import { PaymentError } from '../shared/problem';
import { edgeProblems } from './problems';
import { problemType, renderProblem } from './render-problem';
import { type EdgeServer, startEdgeServer } from './testing/edge-server';
import { RawClient } from './testing/raw-client';

const good = { authorization: 'Bearer shop', 'idempotency-key': 'k', 'content-type': 'application/json' };
const order = { merchant_id: 'mer_1', amount_minor: 100 };

/** A promise rejected with something that is no error, as careless libraries do. */
function rejecting(reason: unknown): Promise<never> {
  return Promise.resolve().then(() => {
    throw reason;
  });
}

describe('answers that are not success (contract 7)', () => {
  let server: EdgeServer;
  beforeAll(async () => {
    server = await startEdgeServer();
  });
  beforeEach(() => {
    server.work.current = { run: (body) => body };
    server.unexpected.length = 0;
  });
  afterAll(() => server.close());

  const post = (payload: string, headers: Record<string, string> = {}) =>
    server.app.inject({ method: 'POST', url: '/v1/orders', headers: { ...good, ...headers }, payload });

  it('every row of the table is rendered with the retry contract in body and header alike', () => {
    for (const kind of Object.values(edgeProblems)) {
      const place = { instance: '/x', lane: 'orders', requestId: 'r1' };
      const { status, headers, body } = renderProblem(new PaymentError(kind, 'Why.'), place);
      const document = JSON.parse(body.toString()) as Record<string, unknown> & { retry?: { after_seconds: number } };
      const after = 'retryAfterSeconds' in kind ? kind.retryAfterSeconds : undefined;
      expect(status).toBe(kind.status);
      expect(headers['content-type']).toBe('application/problem+json');
      expect(headers['retry-after']).toBe(after?.toString());
      expect(document).toEqual({
        type: problemType(kind.code),
        title: kind.title,
        status: kind.status,
        detail: 'Why.',
        instance: '/x',
        code: kind.code,
        lane: 'orders',
        request_id: 'r1',
        ...(after !== undefined && { retry: { after_seconds: after, max_attempts: 3, jitter_seconds: after } }),
      });
    }
  });

  it('the type is the code in kebab case', () => {
    expect(problemType('ERR_CARD_BUSY')).toBe('urn:payment-core:problem:err-card-busy');
  });

  it('extra members, headers and errors of a refusal are in the answer', async () => {
    const kind = { code: 'ERR_TEST', status: 503, title: 'Test', retryAfterSeconds: 7 } as const;
    server.work.current = {
      run: () => {
        throw new PaymentError(kind, 'Because.', {
          members: { compensation: { id: 1 } },
          headers: { 'x-more': 'yes' },
        });
      },
    };
    const answer = await post(JSON.stringify(order));
    expect(answer.statusCode).toBe(503);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'retry-after': '7',
      'x-more': 'yes',
      'x-request-id': answer.json<{ request_id: string }>().request_id,
    });
    expect(answer.json()).toMatchObject({
      code: 'ERR_TEST',
      lane: 'orders',
      instance: '/v1/orders',
      compensation: { id: 1 },
    });
  });

  it('a fault of the process says nothing to the caller and is told once, with its stack and nothing else', async () => {
    const error = Object.assign(new Error('password=hunter2'), { parameters: ['card_1'], code: '23505' });
    server.work.current = { run: () => Promise.reject(error) };
    const answer = await post(JSON.stringify(order), { 'x-request-id': 'trace-7' });
    expect(answer.statusCode).toBe(500);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.json()).toMatchObject({ code: 'ERR_INTERNAL', request_id: 'trace-7' });
    expect(answer.body).not.toContain('hunter2');
    expect(server.unexpected).toEqual([
      {
        name: 'Error',
        message: 'password=hunter2',
        stack: error.stack,
        code: '23505',
        requestId: 'trace-7',
        method: 'POST',
        route: '/v1/orders',
      },
    ]);
  });

  it('what cannot be written as JSON, and what is no error at all, is a 500 as well', async () => {
    server.work.current = { run: () => ({ sum: 1n }) };
    expect((await post(JSON.stringify(order))).json()).toMatchObject({ code: 'ERR_INTERNAL' });
    server.work.current = { run: () => rejecting('just a text') };
    expect((await post(JSON.stringify(order))).json()).toMatchObject({ code: 'ERR_INTERNAL' });
    server.work.current = { run: () => rejecting(null) };
    expect((await post(JSON.stringify(order))).json()).toMatchObject({ code: 'ERR_INTERNAL' });
    expect(server.unexpected).toHaveLength(3);
  });

  it.each([
    ['GET', '/nothing', 404, 'ERR_NOT_FOUND', undefined],
    ['POST', '/nothing', 404, 'ERR_NOT_FOUND', undefined],
    ['HEAD', '/nothing', 404, null, undefined],
    ['PUT', '/v1/orders', 405, 'ERR_METHOD_NOT_ALLOWED', 'GET, HEAD, POST'],
    ['OPTIONS', '/v1/orders', 405, 'ERR_METHOD_NOT_ALLOWED', 'GET, HEAD, POST'],
    ['DELETE', '/v1/orders/7?x=1', 405, 'ERR_METHOD_NOT_ALLOWED', 'GET, HEAD'],
    ['POST', '/health/live', 405, 'ERR_METHOD_NOT_ALLOWED', 'GET, HEAD'],
    ['PROPFIND', '/v1/orders', 405, 'ERR_METHOD_NOT_ALLOWED', 'GET, HEAD, POST'],
    ['GET', '/v1/orders/', 401, 'ERR_UNAUTHENTICATED', undefined],
    ['GET', `/v1/orders/${'x'.repeat(600)}`, 404, 'ERR_NOT_FOUND', undefined],
    ['GET', '/%zz', 400, 'ERR_MALFORMED_REQUEST', undefined],
    ['GET', '/v1/orders/%c3%28', 400, 'ERR_MALFORMED_REQUEST', undefined],
  ])('%s %s is %i %s', async (method, path, status, code, allow) => {
    const client = new RawClient(server.port());
    client.head(`${method} ${path}`, { 'x-request-id': 'mine', connection: 'close' });
    if (method === 'HEAD') {
      const text = await new Promise<string>((resolve) => client.socket.once('data', (data) => resolve(String(data))));
      expect(text).toContain(`HTTP/1.1 ${status} `);
      expect(text.toLowerCase()).toContain('content-type: application/problem+json\r\n');
    } else {
      const answer = await client.answer();
      expect(answer.status).toBe(status);
      expect(answer.headers).toMatchObject({ 'content-type': 'application/problem+json', 'x-request-id': 'mine' });
      expect(answer.headers['allow']).toBe(allow);
      expect(answer.json()).toMatchObject({ code, status, instance: path.split('?')[0], request_id: 'mine' });
    }
    client.end();
  });

  it.each([
    ['garbage', 'GARBAGE\r\n\r\n', 400, 'ERR_MALFORMED_REQUEST'],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nhost: x\r\n\r\n', 400, 'ERR_MALFORMED_REQUEST'],
    ['no Host', 'GET /health/live HTTP/1.1\r\n\r\n', 400, 'ERR_MALFORMED_REQUEST'],
    ['two Hosts', 'GET /health/live HTTP/1.1\r\nhost: x\r\nHost: y\r\n\r\n', 400, 'ERR_MALFORMED_REQUEST'],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n', 400, 'ERR_MALFORMED_REQUEST'],
    [
      'a transfer coding',
      'POST /v1/orders HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
      501,
      'ERR_TRANSFER_CODING_UNKNOWN',
    ],
    [
      'two lengths',
      'POST /v1/orders HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
      400,
      'ERR_MALFORMED_REQUEST',
    ],
    [
      'a header too many',
      `GET / HTTP/1.1\r\nhost: x\r\nx-big: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'ERR_HEADERS_TOO_LARGE',
    ],
    [
      'an expectation',
      'POST /v1/orders HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\n\r\n',
      417,
      'ERR_EXPECTATION_FAILED',
    ],
  ])('%s on the wire gets a problem document and a closed connection', async (_name, text, status, code) => {
    const client = new RawClient(server.port()).send(text);
    const answer = await client.answer();
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/problem+json', connection: 'close' });
    expect(answer.headers['x-request-id']).toBe(answer.json()['request_id']);
    expect(answer.json()).toMatchObject({ code, status });
    await client.closing();
  });

  it('headers that do not end are answered 408', async () => {
    const slow = await startEdgeServer({ times: { headersMsMax: 100, headersCheckMs: 50 } });
    const client = new RawClient(slow.port()).send('GET /health/live HTTP/1.1\r\nhost: x\r\n');
    expect((await client.answer()).json()).toMatchObject({ code: 'ERR_REQUEST_TIMEOUT', status: 408 });
    await client.closing();
    await slow.close();
  });

  it('an X-Request-Id is kept where it is harmless, and replaced where it is not', async () => {
    const idOf = async (given: string): Promise<unknown> =>
      (await server.app.inject({ url: '/health/live', headers: { 'x-request-id': given } })).headers['x-request-id'];
    expect(await idOf('a.B-9_')).toBe('a.B-9_');
    expect(await idOf('x'.repeat(128))).toBe('x'.repeat(128));
    for (const bad of ['x'.repeat(129), 'two words', 'ümlaut', 'a/b']) {
      expect(await idOf(bad)).toMatch(/^[\w-]{12}\.[0-9a-z]+$/);
    }
  });

  it('errors of routes without a lane are problems too', async () => {
    server.work.open = () => {
      throw new Error('inside');
    };
    const answer = await server.app.inject('/boom');
    expect(answer.statusCode).toBe(500);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.json()).not.toHaveProperty('lane');
  });

  it('all of them appear in the access log, with the route and not the path', async () => {
    server.answered.length = 0;
    await server.app.inject('/nothing/at/all');
    await server.app.inject('/%zz');
    await server.app.inject('/v1/orders/secret');
    await post('{');
    expect(server.answered).toMatchObject([
      { status: 404, route: null, lane: null, code: 'ERR_NOT_FOUND', aborted: false },
      { status: 400, route: null, lane: null, code: 'ERR_MALFORMED_REQUEST' },
      { status: 401, route: '/v1/orders/:id', lane: 'orders', code: 'ERR_UNAUTHENTICATED' },
      { status: 400, route: '/v1/orders', lane: 'orders', code: 'ERR_MALFORMED_JSON' },
    ]);
  });
});
