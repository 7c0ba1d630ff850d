import type { FastifyReply } from 'fastify';
import { PaymentError, type ProblemKind } from '../shared/problem';
import type { Failed, StandIn } from './admission.interceptor';
import { type EdgeServer, type EdgeServerOptions, startEdgeServer } from './testing/edge-server';

const unavailable = {
  code: 'ERR_ORDERS_UNAVAILABLE',
  status: 503,
  title: 'No orders now',
  retryAfterSeconds: 5,
} as const satisfies ProblemKind;

describe('what a lane answers in place of a failure', () => {
  let server: EdgeServer;
  const asked: Failed[] = [];

  const start = async (answer: StandIn['answer'], options: EdgeServerOptions = {}): Promise<void> => {
    const standIn: StandIn = {
      answer: (failed) => {
        asked.push(failed);
        return answer(failed);
      },
    };
    server = await startEdgeServer({ standIn, ...options });
  };

  const order = (key: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${server.port()}/v1/orders`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer shop~orders',
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify({ merchant_id: 'mer_1', amount_minor: 5 }),
    });

  afterEach(async () => {
    asked.length = 0;
    await server.close();
  });

  const accept = ({ reply }: { reply: FastifyReply }): unknown => {
    reply.status(202).header('location', '/v1/orders/1');
    return { id: 1, status: 'QUEUED' };
  };

  it('answers a full lane in its own way, and takes no permit for it', async () => {
    await start(accept, { limits: { permits: 1, queueMax: 0 } });
    const first = Promise.withResolvers<object>();
    server.work.current = { run: () => first.promise };
    const running = order('a');
    while (server.bulkhead.snapshot().inUse === 0) await new Promise(setImmediate);
    const answer = await order('b');
    expect(answer.status).toBe(202);
    expect(answer.headers.get('location')).toBe('/v1/orders/1');
    expect(await answer.json()).toEqual({ id: 1, status: 'QUEUED' });
    expect(asked.map(({ reason }) => reason)).toEqual(['full']);
    expect(server.bulkhead.snapshot().inUse).toBe(1);
    first.resolve({ done: true });
    expect((await running).status).toBe(201);
  });

  it('adds members to a problem document', async () => {
    await start(({ failure }) => {
      throw new PaymentError(failure.kind, failure.message, { members: { compensation: { tax_minor: 7 } } });
    });
    server.work.current = {
      run: () => {
        throw new PaymentError(unavailable, 'The provider is away.');
      },
    };
    const answer = await order('a');
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(await answer.json()).toMatchObject({ code: unavailable.code, compensation: { tax_minor: 7 } });
    expect(asked.map(({ reason }) => reason)).toEqual(['failed']);
  });

  it.each([
    ['queue_timeout', { permits: 1, queueMax: 1, queueWaitMsMax: 20 }],
    ['execution_timeout', { permits: 1, queueMax: 0, executionMsMax: 50 }],
  ] as const)('is asked after a %s', async (reason, limits) => {
    await start(accept, { limits });
    const first = Promise.withResolvers<object>();
    server.work.current = { run: () => first.promise };
    const answers = [order('a')];
    while (server.bulkhead.snapshot().inUse === 0) await new Promise(setImmediate);
    if (reason === 'queue_timeout') answers.push(order('b'));
    expect((await (answers.at(-1) as Promise<Response>)).status).toBe(202);
    expect(asked.map((failed) => failed.reason)).toEqual([reason]);
    first.resolve({ done: true });
    await Promise.all(answers);
  });

  it('is not asked for what is the request’s own fault', async () => {
    await start(accept);
    server.work.current = {
      run: () => {
        throw new PaymentError({ code: 'ERR_ORDERS_GONE', status: 409, title: 'Gone' }, 'Gone.');
      },
    };
    expect((await order('a')).status).toBe(409);
    expect(asked).toEqual([]);
  });

  it('is an ordinary failure where the stand-in itself fails', async () => {
    await start(
      () => {
        throw new Error('broken');
      },
      { limits: { permits: 1, queueMax: 0, executionMsMax: 50 } },
    );
    server.work.current = { run: () => new Promise(() => undefined) };
    expect((await order('a')).status).toBe(500);
    expect(server.unexpected.map(({ message }) => message)).toEqual(['broken']);
  });
});
