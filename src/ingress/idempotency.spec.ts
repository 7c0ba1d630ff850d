import { FakeClock } from '../../test/support/fake-clock';
import type { KeyedOutcome, KeyedRequest } from './idempotency';
import { IdempotencyCoordinator, TWIN_WAIT_MS_MAX } from './idempotency.coordinator';
import { payloadHashOf, scopeHashOf } from './keyed-request';
import { startEdgeServer } from './testing/edge-server';
import { eventually } from './testing/raw-client';

const request = (key: string, payload: unknown = {}): KeyedRequest => ({
  scopeHash: scopeHashOf({ caller: 'shop', method: 'POST', path: '/v1/orders', key }),
  payloadHash: payloadHashOf('POST', '/v1/orders', payload),
});
const answered = (answer: string): KeyedOutcome<string> => ({ kind: 'answered', answer, replayed: false });
const flush = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
};

describe('requests under an idempotency key, in one process (contract 8)', () => {
  let clock: FakeClock;
  let coordinator: IdempotencyCoordinator;
  let works: PromiseWithResolvers<KeyedOutcome<string>>[];
  const work = (): Promise<KeyedOutcome<string>> => {
    const next = Promise.withResolvers<KeyedOutcome<string>>();
    works.push(next);
    return next.promise;
  };
  const run = (of: KeyedRequest): Promise<unknown> =>
    coordinator.run(of, work).catch((error: Error & { code?: string }) => error.code ?? error.message);
  beforeEach(() => {
    clock = new FakeClock();
    coordinator = new IdempotencyCoordinator(clock);
    works = [];
  });
  afterEach(() => {
    expect(coordinator.size).toBe(0);
    expect(clock.armed).toBe(0);
  });

  it('the first runs, its twins get its answer as a replay', async () => {
    const all = [run(request('k')), run(request('k')), run(request('k'))];
    await flush();
    expect(works).toHaveLength(1);
    expect(coordinator.isInFlight(request('k').scopeHash)).toBe(true);
    works[0]?.resolve(answered('a'));
    expect(await Promise.all(all)).toEqual([
      { answer: 'a', replayed: false },
      { answer: 'a', replayed: true },
      { answer: 'a', replayed: true },
    ]);
  });

  it('an answer that was stored before is a replay for the first, too', async () => {
    const first = run(request('k'));
    works[0]?.resolve({ kind: 'answered', answer: 'a', replayed: true });
    expect(await first).toEqual({ answer: 'a', replayed: true });
  });

  it('a twin waits 250 ms and no longer; the key stays in flight until the work ends', async () => {
    const first = run(request('k'));
    const twin = run(request('k'));
    clock.advance(TWIN_WAIT_MS_MAX - 1);
    await flush();
    const late = run(request('k'));
    clock.advance(1);
    expect(await twin).toBe('ERR_IDEMPOTENCY_IN_FLIGHT');
    expect(coordinator.isInFlight(request('k').scopeHash)).toBe(true);
    works[0]?.resolve(answered('a'));
    expect(await Promise.all([first, late])).toEqual([
      { answer: 'a', replayed: false },
      { answer: 'a', replayed: true },
    ]);
    expect(coordinator.isInFlight(request('k').scopeHash)).toBe(false);
  });

  it('another payload under the key is refused at once, in flight or not yet known', async () => {
    const first = run(request('k', { a: 1 }));
    expect(await run(request('k', { a: 2 }))).toBe('ERR_IDEMPOTENCY_KEY_REUSED');
    works[0]?.resolve({ kind: 'key_reused' });
    expect(await first).toBe('ERR_IDEMPOTENCY_KEY_REUSED');
  });

  it('where the first fails one twin runs and the others wait for that one', async () => {
    const all = [run(request('k')), run(request('k')), run(request('k'))];
    works[0]?.reject(new Error('lost'));
    await flush();
    expect(works).toHaveLength(2);
    works[1]?.resolve(answered('b'));
    expect(await Promise.all(all)).toEqual(['lost', { answer: 'b', replayed: false }, { answer: 'b', replayed: true }]);
  });

  it('failures one after another do not make a twin wait longer than its 250 ms', async () => {
    const all = [run(request('k')), run(request('k')), run(request('k'))];
    clock.advance(200);
    works[0]?.reject(new Error('lost'));
    await flush();
    clock.advance(50);
    expect(await all[2]).toBe('ERR_IDEMPOTENCY_IN_FLIGHT');
    works[1]?.resolve(answered('b'));
    await Promise.all(all);
  });

  it('another process that holds the key is 409 for all; work that throws at once is its caller’s fault only', async () => {
    const all = [run(request('k')), run(request('k'))];
    works[0]?.resolve({ kind: 'in_flight' });
    expect(await Promise.all(all)).toEqual(['ERR_IDEMPOTENCY_IN_FLIGHT', 'ERR_IDEMPOTENCY_IN_FLIGHT']);
    const thrown = coordinator.run(request('t'), () => {
      throw new Error('at once');
    });
    await expect(thrown).rejects.toThrow('at once');
  });

  it('keys are apart by caller, method, path and key', () => {
    const scope = { caller: 'a', method: 'POST', path: '/x', key: 'k' };
    const others = [
      { ...scope, caller: 'b' },
      { ...scope, path: '/y' },
      { ...scope, key: 'l' },
      { ...scope, method: 'PUT' },
      { ...scope, caller: 'aP', method: 'OST' },
      { ...scope, path: '/xk', key: '' },
    ];
    const hashes = [scope, ...others].map((one) => scopeHashOf(one).toString('hex'));
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(scopeHashOf(scope)).toHaveLength(32);
  });

  it('a payload is the same whatever the order of its members, and another with any other value', () => {
    const hash = (body: unknown): string => payloadHashOf('POST', '/x', body).toString('hex');
    expect(hash(JSON.parse('{"a":1,"b":{"d":1.0,"c":2}}'))).toBe(hash(JSON.parse('{ "b":{"c":2,"d":1},"a":1e0}')));
    const others = [{ a: 1 }, { a: '1' }, { a: 1, b: null }, [{ a: 1 }], null, {}, undefined];
    expect(new Set(others.map(hash)).size).toBe(others.length);
  });
});

describe('over HTTP', () => {
  it('a replay says so; a second spelling of the path is the same request; the entry outlives a 504', async () => {
    const server = await startEdgeServer({ limits: { permits: 5, executionMsMax: 100 } });
    const headers = { authorization: 'Bearer shop', 'idempotency-key': 'k1' };
    const post = (url: string, amount = 1) =>
      server.app.inject({ method: 'POST', url, headers, payload: { merchant_id: 'mer_1', amount_minor: amount } });
    const { promise, resolve } = Promise.withResolvers<object>();
    let runs = 0;
    server.work.current = { run: () => ((runs += 1), promise) };
    const first = post('/v1/orders/keyed');
    await eventually(() => runs === 1, 'it ran');
    expect((await post('/v1/orders/keyed', 2)).json()).toMatchObject({
      code: 'ERR_IDEMPOTENCY_KEY_REUSED',
      status: 422,
    });
    expect((await first).statusCode).toBe(504);
    const twin = post('/v1/orders/%6beyed');
    await eventually(() => server.bulkhead.snapshot().running === 1, 'the twin waited');
    resolve({ id: 1 });
    const answer = await twin;
    expect(answer.statusCode).toBe(201);
    expect(answer.headers['idempotency-replayed']).toBe('true');
    expect(answer.json()).toEqual({ id: 1 });
    expect(runs).toBe(1);
    await server.close();
  });

  it('a key is known to be in flight while the fault switch delays its work', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let delays = 0;
    const server = await startEdgeServer({ limits: { permits: 5 }, beforeWork: () => ((delays += 1), promise) });
    const headers = { authorization: 'Bearer shop', 'idempotency-key': 'k1' };
    const post = (amount = 1) =>
      server.app.inject({
        method: 'POST',
        url: '/v1/orders/keyed',
        headers,
        payload: { merchant_id: 'mer_1', amount_minor: amount },
      });
    const first = post();
    await eventually(() => server.coordinator.size === 1, 'the key was known');
    expect((await post(2)).json()).toMatchObject({ code: 'ERR_IDEMPOTENCY_KEY_REUSED' });
    const startedAt = performance.now();
    expect((await post()).json()).toMatchObject({ code: 'ERR_IDEMPOTENCY_IN_FLIGHT' });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(TWIN_WAIT_MS_MAX - 1);
    resolve();
    expect((await first).statusCode).toBe(201);
    expect(delays).toBe(1);
    await server.close();
  });
});
