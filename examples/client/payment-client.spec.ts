import { type Authorization } from './authorization';
import { OutcomeUnknownError, PaymentRefusedError } from './errors';
import { PaymentClient, type PaymentClientOptions } from './payment-client';
import { manualClock, type ManualClock } from './testing/manual-clock';
import { hang, json, problem, reset, scriptedServer, type ScriptedServer, type Step } from './testing/scripted-server';

const request = { merchant_id: 'mer_demo_0001', card_token: 'card_demo_usd_0001', amount_minor: 1999, currency: 'USD' };
const approved = { id: 'aut_1', status: 'APPROVED', response_code: '00' } as Authorization;
const IN_FLIGHT = 'ERR_IDEMPOTENCY_IN_FLIGHT';
const SATURATED = 'ERR_CARD_AUTH_BULKHEAD_SATURATED';
const LOOK_UP = '/v1/authorizations?idempotency_key=op%201';
const key = 'op 1';

let server: ScriptedServer;
let clock: ManualClock;
afterEach(() => server.close());

async function client(steps: Step[], options: Partial<PaymentClientOptions> = {}): Promise<PaymentClient> {
  server = await scriptedServer(...steps);
  clock = manualClock();
  return new PaymentClient({ baseUrl: server.url, token: 'jwt', clock, random: () => 0.5, ...options });
}

/** The requests as `POST 0`, `POST 1` (with the attempt) or `LOOK`. */
function story(): string[] {
  return server.seen.map(({ method, path, attempt }) => (path === LOOK_UP ? 'LOOK' : `${method} ${attempt ?? '-'}`));
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => expect(value).toBe('a failure'),
    (error: unknown) => error,
  );
}

describe('a call', () => {
  it('sends token, key, attempt and body, and returns the answer', async () => {
    const payments = await client([json(201, approved)]);
    expect(await payments.authorize(request, { key })).toEqual(approved);
    expect(server.seen[0]).toMatchObject({ method: 'POST', path: '/v1/authorizations', key, attempt: '0' });
    expect(server.seen[0]?.headers).toMatchObject({ authorization: 'Bearer jwt', 'content-type': 'application/json' });
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual(request);
  });

  it('returns a decline as an answer', async () => {
    const payments = await client([json(201, { ...approved, status: 'DECLINED', response_code: '51' })]);
    expect(await payments.authorize(request, { key })).toMatchObject({ status: 'DECLINED' });
  });

  it.each([
    [0, false],
    [1, true],
    [255, true],
    [256, false],
  ])('takes a key of %i characters: %s', async (length, taken) => {
    const payments = await client([json(201, approved)]);
    const call = payments.authorize(request, { key: 'k'.repeat(length) });
    if (taken) await expect(call).resolves.toEqual(approved);
    else await expect(call).rejects.toThrow(TypeError);
    expect(server.seen).toHaveLength(taken ? 1 : 0);
  });

  it('asks for the token before every request', async () => {
    let asked = 0;
    const payments = await client([problem(503, 'ERR_DRAINING', 5), json(201, approved)], {
      token: () => `t${(asked += 1)}`,
    });
    await payments.authorize(request, { key });
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer t1', 'Bearer t2']);
  });

  it('reads an authorization, and repeats a read whose connection was lost', async () => {
    const payments = await client([reset(), json(200, approved)]);
    expect(await payments.getAuthorization('aut_1')).toEqual(approved);
    expect(server.seen.map(({ path, key: sent }) => [path, sent])).toEqual(
      Array.from({ length: 2 }, () => ['/v1/authorizations/aut_1', undefined]),
    );
  });
});

describe('refusals', () => {
  it.each([
    [0, 5_000],
    [0.5, 6_000],
    [1, 7_000],
  ])('waits Retry-After plus a uniform share (%d) of the jitter', async (share, waitedMs) => {
    const payments = await client([problem(429, SATURATED, 5, 2), json(201, approved)], { random: () => share });
    await payments.authorize(request, { key });
    expect(clock.sleptMs).toEqual([waitedMs]);
    expect(server.seen.map((each) => each.key)).toEqual([key, key]);
    expect(story()).toEqual(['POST 0', 'POST 1']);
  });

  it.each([2, 3])('succeeds after %i refusals under the same key', async (refusals) => {
    const payments = await client([
      ...Array.from({ length: refusals }, () => problem(503, 'ERR_CARD_BUSY', 5)),
      json(201, approved),
    ]);
    expect(await payments.authorize(request, { key })).toEqual(approved);
    expect(server.seen).toHaveLength(refusals + 1);
    expect(server.seen.at(-1)?.attempt).toBe(String(refusals));
  });

  it('gives up after the third retry', async () => {
    const payments = await client(Array.from({ length: 5 }, () => problem(503, 'ERR_CARD_BUSY', 5)));
    const error = await failure(payments.authorize(request, { key }));
    expect(error).toBeInstanceOf(PaymentRefusedError);
    expect(error).toMatchObject({ gaveUp: 'retries_exhausted', attempts: 4, problem: { code: 'ERR_CARD_BUSY' } });
    expect(server.seen).toHaveLength(4);
  });

  it.each([
    [408, 'ERR_REQUEST_TIMEOUT'],
    [409, IN_FLIGHT],
    [425, 'NO_CODE'],
    [429, 'ERR_RETRY_STORM_BLOCKED'],
    [503, 'ERR_DATABASE_POOL_EXHAUSTED'],
  ])('repeats after %i %s', async (status, code) => {
    const payments = await client([problem(status, code, 1), json(201, approved)]);
    expect(await payments.authorize(request, { key })).toEqual(approved);
  });

  it.each([
    [400, 'ERR_VALIDATION'],
    [401, 'ERR_UNAUTHENTICATED'],
    [403, 'ERR_FORBIDDEN'],
    [404, 'ERR_NOT_FOUND'],
    [405, 'ERR_METHOD_NOT_ALLOWED'],
    [409, 'ERR_INVALID_STATE'],
    [409, 'ERR_AMOUNT_EXCEEDS_REMAINING'],
    [413, 'ERR_PAYLOAD_TOO_LARGE'],
    [415, 'ERR_UNSUPPORTED_MEDIA_TYPE'],
    [422, 'ERR_IDEMPOTENCY_KEY_REUSED'],
  ])('never repeats after %i %s, whatever Retry-After says', async (status, code) => {
    const payments = await client([problem(status, code, 1), json(201, approved)]);
    const error = await failure(payments.authorize(request, { key }));
    expect(error).toMatchObject({
      name: 'PaymentRefusedError',
      gaveUp: 'not_retryable',
      attempts: 1,
      problem: { status, code },
    });
    expect(server.seen).toHaveLength(1);
  });

  it('understands a refusal that is no problem document, and waits the default', async () => {
    const html: Step = (_request, response) => response.writeHead(503).end('<html>');
    const payments = await client([html, json(201, approved)]);
    expect(await payments.authorize(request, { key })).toEqual(approved);
    expect(clock.sleptMs).toEqual([5_500]);
  });

  it.each([
    [60, true],
    [61, false],
  ])('obeys a Retry-After of %i s: %s', async (afterS, obeyed) => {
    const payments = await client([problem(503, 'ERR_DRAINING', afterS), json(201, approved)], { deadlineMs: 600_000 });
    const call = payments.authorize(request, { key });
    if (obeyed) await expect(call).resolves.toEqual(approved);
    else expect(await failure(call)).toMatchObject({ gaveUp: 'deadline', attempts: 1 });
  });

  it.each([
    [5_499, 1],
    [5_500, 2],
    [5_501, 2],
  ])('with a deadline of %i ms and a wait of 5 s sends %i times', async (deadlineMs, sent) => {
    const payments = await client([problem(429, SATURATED, 5), json(201, approved)], { deadlineMs });
    const call = payments.authorize(request, { key });
    if (sent === 2) await expect(call).resolves.toEqual(approved);
    else expect(await failure(call)).toMatchObject({ name: 'PaymentRefusedError', gaveUp: 'deadline' });
    expect(server.seen).toHaveLength(sent);
    expect(clock.sleptMs).toHaveLength(sent - 1);
  });

  it('repeats less where told to, and hands over what the refusal carries', async () => {
    const estimate: Step = json(
      503,
      { code: 'ERR_TAX_BULKHEAD_SATURATED', compensation: { tax_minor: 131 } },
      { 'retry-after': '5' },
    );
    const payments = await client([estimate]);
    const error = await failure(
      payments.post('/v1/tax/quotes', {}, { key, retriesMax: 0, headers: { prefer: 'handling=strict' } }),
    );
    expect(error).toMatchObject({ attempts: 1, problem: { compensation: { tax_minor: 131 } } });
    expect(server.seen[0]).toMatchObject({ path: '/v1/tax/quotes', headers: { prefer: 'handling=strict' } });
  });
});

describe('an unknown outcome', () => {
  it('is looked up, and the authorization that was made is the answer: nothing is sent twice', async () => {
    const committed: string[] = [];
    const payments = await client([reset((seen) => committed.push(seen.key ?? '')), json(200, approved)]);
    expect(await payments.authorize(request, { key })).toEqual(approved);
    expect(committed).toEqual([key]);
    expect(story()).toEqual(['POST 0', 'LOOK']);
  });

  it('is sent again under the same key where nothing is known of it', async () => {
    const payments = await client([reset(), problem(404, 'ERR_NOT_FOUND'), json(201, approved)]);
    expect(await payments.authorize(request, { key })).toEqual(approved);
    expect(story()).toEqual(['POST 0', 'LOOK', 'POST 1']);
    expect(server.seen[2]?.key).toBe(key);
    expect(clock.sleptMs).toEqual([1_500]);
  });

  it('is looked up again while it is in flight, as late as told', async () => {
    const inFlight = problem(409, IN_FLIGHT, 1);
    const payments = await client([problem(504, 'ERR_EXECUTION_TIMEOUT', 5), inFlight, inFlight, json(200, approved)]);
    expect(await payments.authorize(request, { key })).toEqual(approved);
    expect(story()).toEqual(['POST 0', 'LOOK', 'LOOK', 'LOOK']);
    expect(clock.sleptMs).toEqual([1_000, 1_000]);
  });

  it('follows a request without an answer within its limit', async () => {
    const payments = await client([hang, json(200, approved)], { attemptMsMax: 100 });
    expect(await payments.authorize(request, { key })).toEqual(approved);
    expect(story()).toEqual(['POST 0', 'LOOK']);
  });

  it.each([502, 504])('follows a %i', async (status) => {
    const payments = await client([problem(status, 'X', 5), problem(404, 'ERR_NOT_FOUND'), json(201, approved)]);
    expect(await payments.authorize(request, { key })).toEqual(approved);
    expect(story()).toEqual(['POST 0', 'LOOK', 'POST 1']);
    expect(clock.sleptMs).toEqual([5_000]);
  });

  it('follows a 500, which is looked up but not sent again', async () => {
    const payments = await client([problem(500, 'ERR_INTERNAL'), problem(404, 'ERR_NOT_FOUND'), json(201, approved)]);
    expect(await failure(payments.authorize(request, { key }))).toMatchObject({
      gaveUp: 'not_retryable',
      problem: { status: 500 },
    });
    expect(story()).toEqual(['POST 0', 'LOOK']);
  });

  it('survives look-ups that are lost or refused', async () => {
    const payments = await client([
      reset(),
      reset(),
      problem(429, SATURATED, 5),
      problem(503, 'ERR_DRAINING', 5),
      json(200, approved),
    ]);
    expect(await payments.authorize(request, { key })).toEqual(approved);
    expect(story()).toEqual(['POST 0', 'LOOK', 'LOOK', 'LOOK', 'LOOK']);
    expect(clock.sleptMs).toEqual([1_500, 5_000, 5_000]);
  });

  it('is never called a refusal: not by a look-up that is refused for good', async () => {
    const payments = await client([reset(), problem(401, 'ERR_UNAUTHENTICATED')]);
    const error = await failure(payments.authorize(request, { key }));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ key, cause: { problem: { status: 401 } } });
  });

  it('is never called a refusal: not by a 404 of something that is not the platform', async () => {
    const payments = await client([reset(), json(404, { message: 'no route' })]);
    expect(await failure(payments.authorize(request, { key }))).toBeInstanceOf(OutcomeUnknownError);
  });

  it('is never called a refusal: not by a refusal of a later attempt', async () => {
    const payments = await client([reset(), problem(404, 'ERR_NOT_FOUND'), problem(403, 'ERR_FORBIDDEN')]);
    expect(await failure(payments.authorize(request, { key }))).toBeInstanceOf(OutcomeUnknownError);
  });

  it('stays unknown where every attempt is lost, after three retries', async () => {
    const lost = [reset(), problem(404, 'ERR_NOT_FOUND')];
    const payments = await client([...lost, ...lost, ...lost, ...lost, json(201, approved)]);
    expect(await failure(payments.authorize(request, { key }))).toMatchObject({
      name: 'OutcomeUnknownError',
      attempts: 4,
    });
    expect(story().filter((each) => each !== 'LOOK')).toEqual(['POST 0', 'POST 1', 'POST 2', 'POST 3']);
  });

  it('stays unknown where the deadline comes first', async () => {
    const inFlight = Array.from({ length: 40 }, () => problem(409, IN_FLIGHT, 1));
    const payments = await client([reset(), ...inFlight], { deadlineMs: 10_000 });
    expect(await failure(payments.authorize(request, { key }))).toBeInstanceOf(OutcomeUnknownError);
    expect(story()).toHaveLength(1 + 10);
  });

  it('of another POST is met by the same key alone', async () => {
    const payments = await client([reset(), json(200, { id: 'evl_1' }, { 'idempotency-replayed': 'true' })]);
    expect(await payments.post('/v1/fraud/evaluations', {}, { key })).toEqual({ id: 'evl_1' });
    expect(story()).toEqual(['POST 0', 'POST 1']);
  });
});

describe('findByKey', () => {
  it.each([
    [json(200, approved), { state: 'done', authorization: approved }],
    [problem(404, 'ERR_NOT_FOUND'), { state: 'absent' }],
    [problem(409, IN_FLIGHT, 1), { state: 'in_flight' }],
  ])('asks once and says what it found (%#)', async (step, found) => {
    const payments = await client([step]);
    expect(await payments.findByKey(key)).toEqual(found);
    expect(story()).toEqual(['LOOK']);
  });

  it('says that it does not know where the question was not answered', async () => {
    const payments = await client([reset(), problem(403, 'ERR_FORBIDDEN')]);
    expect(await failure(payments.findByKey(key))).toBeInstanceOf(OutcomeUnknownError);
    expect(await failure(payments.findByKey(key))).toBeInstanceOf(PaymentRefusedError);
  });
});

describe('the caller’s signal', () => {
  const stop = new Error('the customer left');

  it('aborted before the call sends nothing', async () => {
    const payments = await client([json(201, approved)]);
    expect(await failure(payments.authorize(request, { key, signal: AbortSignal.abort(stop) }))).toBe(stop);
    expect(server.seen).toHaveLength(0);
  });

  it('aborted during the request leaves the outcome unknown, and says so', async () => {
    const abort = new AbortController();
    const payments = await client([() => abort.abort(stop)]);
    const error = await failure(payments.authorize(request, { key, signal: abort.signal }));
    expect(error).toMatchObject({ name: 'OutcomeUnknownError', key, cause: stop });
    expect(server.seen).toHaveLength(1);
  });

  it('aborted while waiting after a refusal ends with its reason: nothing was done', async () => {
    const abort = new AbortController();
    const payments = await client([problem(429, SATURATED, 5), json(201, approved)]);
    clock.beforeSleep = () => abort.abort(stop);
    expect(await failure(payments.authorize(request, { key, signal: abort.signal }))).toBe(stop);
    expect(server.seen).toHaveLength(1);
  });
});
