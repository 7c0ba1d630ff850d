import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { type EdgeServer, startEdgeServer } from './testing/edge-server';
import { RawClient } from './testing/raw-client';

const good = { authorization: 'Bearer shop', 'idempotency-key': 'k', 'content-type': 'application/json' };
const order = JSON.stringify({ merchant_id: 'mer_1', amount_minor: 100 });

interface Problem {
  code: string;
  errors: { pointer: string; detail: string }[];
}

describe('what a request must be', () => {
  let server: EdgeServer;
  beforeAll(async () => {
    server = await startEdgeServer();
  });
  afterAll(() => server.close());

  const post = async (payload: string | Buffer, headers: Record<string, string> = {}) => {
    const answer = await server.app.inject({
      method: 'POST',
      url: '/v1/orders',
      headers: { ...good, ...headers },
      payload,
    });
    const { code, errors = [] } = answer.statusCode < 400 ? { code: 'OK' } : answer.json<Problem>();
    return { status: answer.statusCode, code, pointers: errors.map(({ pointer }) => pointer) };
  };

  it.each([
    ['nothing', ''],
    ['half an object', '{"a":'],
    ['two values', '{}{}'],
    ['a trailing comma', '{"a":1,}'],
    ['NaN', '{"amount_minor":NaN}'],
    ['a prototype', '{"__proto__":{"admin":true},"merchant_id":"m","amount_minor":1}'],
    ['an escaped prototype', '{"\\u005f_proto__":{"admin":true},"merchant_id":"m","amount_minor":1}'],
    ['a constructor', '{"constructor":{"prototype":{}},"merchant_id":"m","amount_minor":1}'],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ])('a body of %s is malformed', async (_name, payload) => {
    expect(await post(payload)).toMatchObject({ status: 400, code: 'ERR_MALFORMED_JSON' });
  });

  it.each([
    ['null', 'null', ['']],
    ['a list', '[]', ['']],
    ['a text', '"x"', ['']],
    ['nothing in it', '{}', ['/merchant_id', '/amount_minor']],
    ['wrong types', '{"merchant_id":1,"amount_minor":"1"}', ['/merchant_id', '/amount_minor']],
    ['a fraction', '{"merchant_id":"m","amount_minor":1.5}', ['/amount_minor']],
    ['no safe integer', '{"merchant_id":"m","amount_minor":9007199254740992}', ['/amount_minor']],
    ['a number that is rounded', '{"merchant_id":"m","amount_minor":1.0000000000000000001}', ['/amount_minor']],
    ['a number rounded up', '{"merchant_id":"m","amount_minor":0.99999999999999999999}', ['/amount_minor']],
    ['a large number rounded', '{"merchant_id":"m","amount_minor":9007199254740991.4}', ['/amount_minor']],
    ['a whole number with a fraction', '{"merchant_id":"m","amount_minor":100.0}', ['/amount_minor']],
    ['an exponent', '{"merchant_id":"m","amount_minor":1E2}', ['/amount_minor']],
    ['a member twice', '{"merchant_id":"m","amount_minor":1,"amount_minor":200}', ['/amount_minor']],
    ['a member twice by escape', '{"merchant_id":"m","amount_minor":1,"\\u0061mount_minor":200}', ['/amount_minor']],
    [
      'faults of the text and of the values',
      '{"amount_minor":1.0,"note":7,"x":[1,2.5],"x":{}}',
      ['/amount_minor', '/merchant_id', '/note', '/x', '/x/1'],
    ],
    ['unknown members', '{"merchant_id":"m","amount_minor":1,"a/b":1,"c~d":2}', ['/a~1b', '/c~0d']],
    ['everything wrong', '{"amount_minor":0,"x":1}', ['/amount_minor', '/merchant_id', '/x']],
    ['half a surrogate pair', '{"merchant_id":"\\ud800","amount_minor":1}', ['/merchant_id']],
  ])('a body with %s has every fault told by pointer', async (_name, payload, pointers) => {
    const answer = await post(payload);
    expect(answer).toMatchObject({ status: 400, code: 'ERR_VALIDATION' });
    expect([...answer.pointers].sort()).toEqual([...pointers].sort());
  });

  it('nesting as deep as a body can hold crashes nothing', async () => {
    const depth = 30_000;
    expect(await post(`${'['.repeat(depth)}${']'.repeat(depth)}`)).toMatchObject({
      status: 400,
      code: 'ERR_VALIDATION',
    });
    const objects = 9_000;
    expect(await post(`${'{"a":'.repeat(objects)}1${'}'.repeat(objects)}`)).toMatchObject({ code: 'ERR_VALIDATION' });
    expect(await post('['.repeat(60_000))).toMatchObject({ status: 400, code: 'ERR_MALFORMED_JSON' });
    const surrogate = `{"merchant_id":"m","amount_minor":1,"note":${'['.repeat(9_000)}"\\ud800"${']'.repeat(9_000)}}`;
    expect(await post(surrogate)).toMatchObject({ status: 400, code: 'ERR_VALIDATION' });
  });

  it('well-formed pairs by escape are text', async () => {
    expect((await post('{"merchant_id":"\\ud83d\\ude00","amount_minor":1}')).code).toBe('OK');
  });

  it.each([
    ['application/json; charset=utf-8', 'OK'],
    ['application/json;charset="UTF-8"', 'OK'],
    ['APPLICATION/JSON', 'OK'],
    ['application/json; charset=utf-16', 'ERR_UNSUPPORTED_MEDIA_TYPE'],
    ['text/plain', 'ERR_UNSUPPORTED_MEDIA_TYPE'],
    ['application/x-www-form-urlencoded', 'ERR_UNSUPPORTED_MEDIA_TYPE'],
    ['application/jsonp', 'ERR_UNSUPPORTED_MEDIA_TYPE'],
    ['foo/bar', 'ERR_UNSUPPORTED_MEDIA_TYPE'],
    ['nonsense', 'ERR_UNSUPPORTED_MEDIA_TYPE'],
    ['', 'ERR_UNSUPPORTED_MEDIA_TYPE'],
  ])('a body of type %s: %s', async (type, code) => {
    expect((await post(order, { 'content-type': type })).code).toBe(code);
  });

  it('a body without a type, or encoded, is not read', async () => {
    const { 'content-type': _, ...untyped } = good;
    const answer = await server.app.inject({
      method: 'POST',
      url: '/v1/orders',
      headers: untyped,
      payload: Buffer.from(order),
    });
    expect(answer.statusCode).toBe(415);
    expect((await post(order, { 'content-encoding': 'gzip' })).code).toBe('ERR_UNSUPPORTED_MEDIA_TYPE');
    expect((await post(order, { 'content-encoding': 'identity' })).code).toBe('OK');
  });

  it('65,536 bytes are a body, one more is not, declared or not', async () => {
    const sized = (bytes: number): string => order + ' '.repeat(bytes - order.length);
    expect((await post(sized(65_536))).code).toBe('OK');
    expect((await post(sized(65_537))).code).toBe('ERR_PAYLOAD_TOO_LARGE');
    const client = new RawClient(server.port());
    client.head('POST /v1/orders', { ...good, 'transfer-encoding': 'chunked' });
    client.send(`10001\r\n${sized(65_537)}\r\n0\r\n\r\n`);
    expect((await client.answer()).json()).toMatchObject({ code: 'ERR_PAYLOAD_TOO_LARGE', limit_bytes: 65_536 });
    client.end();
  });

  it('faults of the query and the path point there', async () => {
    const faults = async (url: string): Promise<string[]> => {
      const answer = await server.app.inject({ url, headers: { authorization: 'Bearer shop' } });
      return answer.json<Problem>().errors.map(({ pointer }) => pointer);
    };
    expect(await faults('/v1/orders?cursor=x&a=1&b=2')).toEqual(['/query/cursor', '/query/a', '/query/b']);
    expect(await faults('/v1/orders?cursor=xx&cursor=yy')).toEqual(['/query/cursor']);
    expect(await faults(`/v1/orders/${'x'.repeat(41)}`)).toEqual(['/params/id']);
    // A route without a query refuses any.
    expect(await faults('/v1/orders/7?a=1&__proto__=2')).toEqual(['/query/a', '/query/__proto__']);
    const posted = await server.app.inject({ method: 'POST', url: '/v1/orders?dry_run', headers: good, payload: '{}' });
    expect(posted.json<Problem>().errors.map(({ pointer }) => pointer)).toEqual([
      '/query/dry_run',
      '/merchant_id',
      '/amount_minor',
    ]);
  });

  it('a body for another merchant than the token’s is 403', async () => {
    expect(await post(order, { authorization: 'Bearer shop~orders~mer_2' })).toMatchObject({
      status: 403,
      code: 'ERR_FORBIDDEN',
      pointers: ['/merchant_id'],
    });
    expect((await post(order, { authorization: 'Bearer shop~orders~mer_2.mer_1' })).code).toBe('OK');
  });
});

describe('the headers that make retries safe (contract 8)', () => {
  let server: EdgeServer;
  beforeAll(async () => {
    server = await startEdgeServer();
  });
  afterAll(() => server.close());

  const send = async (lines: readonly string[], on = server): Promise<[number, unknown, string[]]> => {
    const client = new RawClient(on.port());
    const head = ['POST /v1/orders HTTP/1.1', 'host: x', 'authorization: Bearer shop', ...lines];
    client.send([...head, 'content-type: application/json', `content-length: ${order.length}`, '', order].join('\r\n'));
    const answer = await client.answer();
    client.end();
    const { code, errors = [] } = answer.json() as Partial<Problem>;
    return [answer.status, code, errors.map(({ pointer }) => pointer)];
  };
  const key = '/headers/idempotency-key';

  it.each([
    ['no key', [], 'ERR_BACKOFF_HEADERS_REQUIRED', [key]],
    ['an empty key', ['idempotency-key:'], 'ERR_BACKOFF_HEADERS_REQUIRED', [key]],
    ['a key of blanks', ['idempotency-key: \t '], 'ERR_BACKOFF_HEADERS_REQUIRED', [key]],
    ['a key of 256', [`idempotency-key: ${'x'.repeat(256)}`], 'ERR_VALIDATION', [key]],
    ['a key that is not ASCII', ['idempotency-key: k\u00e9'], 'ERR_VALIDATION', [key]],
    ['a key with a tab', ['idempotency-key: a\tb'], 'ERR_VALIDATION', [key]],
    ['two keys', ['idempotency-key: a', 'Idempotency-Key: b'], 'ERR_VALIDATION', [key]],
    ['attempt −1', ['idempotency-key: k', 'retry-attempt: -1'], 'ERR_VALIDATION', ['/headers/retry-attempt']],
    ['attempt 1001', ['idempotency-key: k', 'retry-attempt: 1001'], 'ERR_VALIDATION', ['/headers/retry-attempt']],
    ['attempt 1.0', ['idempotency-key: k', 'retry-attempt: 1.0'], 'ERR_VALIDATION', ['/headers/retry-attempt']],
    ['no attempt', ['idempotency-key: k', 'retry-attempt:'], 'ERR_VALIDATION', ['/headers/retry-attempt']],
    [
      'two attempts',
      ['idempotency-key: k', 'retry-attempt: 1', 'retry-attempt: 1'],
      'ERR_VALIDATION',
      ['/headers/retry-attempt'],
    ],
    [
      'count 0',
      ['idempotency-key: k', 'x-envoy-attempt-count: 0'],
      'ERR_VALIDATION',
      ['/headers/x-envoy-attempt-count'],
    ],
    [
      'all of it wrong',
      ['idempotency-key: a\tb', 'retry-attempt: x', 'x-envoy-attempt-count: y'],
      'ERR_VALIDATION',
      [key, '/headers/retry-attempt', '/headers/x-envoy-attempt-count'],
    ],
  ])('%s is refused', async (_name, lines, code, pointers) => {
    expect(await send(lines)).toEqual([400, code, pointers]);
  });

  it.each([
    ['a key of 255', [`idempotency-key: ${'x'.repeat(255)}`]],
    ['a key of one space between two letters', ['idempotency-key: a b']],
    ['a key with a comma in it', ['idempotency-key: a, b']],
    ['attempt 0 and count 1', ['idempotency-key: k', 'retry-attempt: 0', 'x-envoy-attempt-count: 1']],
    ['attempt 1000', ['idempotency-key: k', 'retry-attempt: 1000']],
  ])('%s is taken', async (_name, lines) => {
    expect((await send(lines))[0]).toBe(201);
  });

  it('the strict mode demands the attempt as well', async () => {
    const strict = await startEdgeServer({ retryGuard: 'strict' });
    expect(await send(['idempotency-key: k'], strict)).toEqual([
      400,
      'ERR_BACKOFF_HEADERS_REQUIRED',
      ['/headers/retry-attempt'],
    ]);
    expect((await send(['idempotency-key: k', 'retry-attempt: 0'], strict))[0]).toBe(201);
    await strict.close();
  });
});

describe('the API reference', () => {
  it('describes a lane route from the schemas that validate it', async () => {
    const server = await startEdgeServer();
    const document = SwaggerModule.createDocument(server.app, new DocumentBuilder().addBearerAuth().build());
    const { post, get } = document.paths['/v1/orders'] ?? {};
    expect(post?.requestBody).toMatchObject({
      required: true,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            required: ['merchant_id', 'amount_minor'],
            additionalProperties: false,
            properties: { merchant_id: { type: 'string', minLength: 1 }, amount_minor: { type: 'integer' } },
          },
        },
      },
    });
    expect(post?.parameters).toMatchObject([{ name: 'Idempotency-Key', in: 'header', required: true }]);
    expect(Object.keys(post?.responses ?? {}).sort()).toEqual(['201', 'default']);
    expect(get?.parameters).toMatchObject([{ name: 'cursor', in: 'query', required: false, schema: { minLength: 2 } }]);
    expect(document.paths['/v1/orders/{id}']?.get?.parameters).toMatchObject([
      { name: 'id', in: 'path', required: true },
    ]);
    await server.close();
  });
});
