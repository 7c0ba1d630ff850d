import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { FakeClock } from '../../../../test/support/fake-clock';
import { AwaitedBody } from '../../../ingress/awaited-body';
import { callerOf, Exchange } from '../../../ingress/exchange';
import type { Verdict } from '../../../ingress/pipeline';
import type { RoutePolicy } from '../../../ingress/route-policy';
import { Room } from '../buffer/room';
import { IngestGate } from './ingest-gate';

const limits = { itemsMax: 10_000, bodyBytesHeldMax: 1_000, congestedFrom: 8_000, openBelow: 6_000 };
const policy: RoutePolicy = {
  lane: 'ledger',
  scope: 'ledger',
  idempotencyKey: false,
  bodyBytesMax: 200,
  merchantMember: null,
  gated: true,
  bodyAsText: true,
};

function setUp({ unreadMax = 10 } = {}) {
  const room = new Room(limits);
  const clock = new FakeClock();
  const refused: string[] = [];
  const gate = new IngestGate({
    room,
    clock,
    unreadMsMax: 1_000,
    unreadMax,
    onRefused: (reason) => refused.push(reason),
  });
  const visit = (caller: string, length: number | null) => {
    const exchange = new Exchange(policy, '/v1/ledger/batches', clock.now());
    exchange.caller = { subject: caller, scopes: new Set(['ledger']), merchants: '*' };
    const headers = length === null ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) };
    const request = { headers, exchange, body: null } as unknown as FastifyRequest;
    const reply = {} as FastifyReply;
    exchange.awaitedBody = new AwaitedBody(reply);
    return { request, exchange, reply };
  };
  const enter = (caller: string, length: number | null) => {
    const visited = visit(caller, length);
    return { ...visited, verdict: gate.check(visited) };
  };
  return { room, clock, gate, refused, enter };
}

function code(verdict: Verdict | Promise<Verdict>): string | null {
  if (verdict instanceof Promise) throw new Error('It waits');
  return verdict === null ? null : verdict.code;
}

/** Items of two callers, so that neither has more than half. */
function fill(room: Room, items: number) {
  const shares = [room.take(Math.ceil(items / 2), 'first'), room.take(Math.floor(items / 2), 'second')] as const;
  return (count: number) => {
    for (let given = 0; given < count; given += 1) room.giveBack(shares[given % 2] as (typeof shares)[0]);
  };
}

describe('bytes are reserved before they are read', () => {
  it('as many as were declared, and given back when the request ends without a door', () => {
    const { room, enter } = setUp();
    const { verdict, exchange } = enter('shop', 150);
    expect([code(verdict), room.bytes]).toEqual([null, 150]);
    exchange.onEnded?.();
    exchange.onEnded?.();
    expect(room.bytes).toBe(0);
  });

  it('the longest body there is where none were declared; what was not needed is given back once it is read', async () => {
    const { room, gate, enter } = setUp();
    const { verdict, request, exchange } = enter('shop', null);
    expect([code(verdict), room.bytes]).toEqual([null, 200]);
    request.body = 'ünread';
    let held = 0;
    await gate.hold(request, async (text, caller) => {
      held = room.bytes;
      expect([text, caller]).toEqual(['ünread', callerOf(request)]);
      // The client leaves: the text is still held, by the work.
      exchange.onEnded?.();
      expect(room.bytes).toBe(held);
      await nextTurn();
    });
    expect([held, room.bytes]).toEqual([7, 0]);
  });

  it('and given back when the work fails', async () => {
    const { room, gate, enter } = setUp();
    const { request } = enter('shop', 100);
    request.body = '{}';
    await expect(gate.hold(request, () => Promise.reject(new Error('planted')))).rejects.toThrow('planted');
    expect(room.bytes).toBe(0);
  });

  it('one caller has half of them, all callers the whole: the next byte is refused', () => {
    const { refused, enter } = setUp();
    for (const bytes of [200, 200, 100]) expect(code(enter('shop', bytes).verdict)).toBeNull();
    expect(code(enter('shop', 1).verdict)).toBe('ERR_LEDGER_BUFFER_FULL');
    for (const bytes of [200, 200, 99]) expect(code(enter('other', bytes).verdict)).toBeNull();
    expect(code(enter('third', 2).verdict)).toBe('ERR_LEDGER_BUFFER_FULL');
    expect(code(enter('third', 1).verdict)).toBeNull();
    expect(refused).toEqual(['full', 'full']);
  });

  it('nobody works for a client that has gone before its body was handed on', async () => {
    const { gate, refused, enter } = setUp();
    const { request, exchange } = enter('shop', 2);
    request.body = '{}';
    exchange.onEnded?.();
    const work = jest.fn();
    await expect(gate.hold(request, work)).rejects.toThrow('gone');
    expect([work.mock.calls.length, refused]).toEqual([0, ['client_abort']]);
  });

  it('a request without a body has none to hand on', async () => {
    const { gate, enter } = setUp();
    const { request } = enter('shop', 2);
    await expect(gate.hold(request, () => Promise.resolve())).rejects.toMatchObject({ code: 'ERR_MALFORMED_JSON' });
  });
});

describe('while the buffer is congested', () => {
  it('at 7,999 items it is read, at 8,000 it is not, until there are fewer than 6,000', async () => {
    const { room, gate, enter } = setUp();
    const giveBack = fill(room, 7_999);
    expect(code(enter('shop', 10).verdict)).toBeNull();
    const rest = room.take(1, 'second');
    let verdict: Verdict | 'waits' = 'waits';
    void Promise.resolve(enter('shop', 10).verdict).then((later) => (verdict = later));
    giveBack(1_999);
    await nextTurn();
    expect([verdict, gate.unread, room.items]).toEqual(['waits', 1, 6_001]);
    giveBack(1);
    await nextTurn();
    expect([verdict, room.items]).toEqual(['waits', 6_000]);
    room.giveBack(rest);
    await nextTurn();
    await nextTurn();
    expect([verdict, gate.unread, room.bytes]).toEqual([null, 0, 20]);
  });

  it('it lies unread for a second at most, and takes no room meanwhile', async () => {
    const { room, clock, gate, refused, enter } = setUp();
    fill(room, 8_000);
    const { verdict } = enter('shop', 10);
    clock.advance(999);
    expect([gate.unread, refused, room.bytes]).toEqual([1, [], 0]);
    clock.advance(1);
    expect(await verdict).toMatchObject({
      code: 'ERR_LEDGER_BUFFER_FULL',
      kind: { status: 429, retryAfterSeconds: 1 },
    });
    expect([gate.unread, refused, clock.armed]).toEqual([0, ['queue_timeout'], 0]);
  });

  it('whoever leaves waits no longer', async () => {
    const { room, clock, gate, refused, enter } = setUp();
    const giveBack = fill(room, 8_000);
    const { verdict, exchange } = enter('shop', 10);
    exchange.entry?.abandon();
    expect(await verdict).not.toBeNull();
    expect([gate.unread, refused, clock.armed]).toEqual([0, ['client_abort'], 0]);
    giveBack(8_000);
    await nextTurn();
    expect(room.bytes).toBe(0);
  });

  it('those that wait are bounded', () => {
    const { room, refused, enter } = setUp({ unreadMax: 2 });
    fill(room, 8_000);
    expect(enter('shop', 10).verdict).toBeInstanceOf(Promise);
    expect(enter('shop', 10).verdict).toBeInstanceOf(Promise);
    expect(code(enter('shop', 10).verdict)).toBe('ERR_LEDGER_BUFFER_FULL');
    expect(refused).toEqual(['full']);
  });

  it('at 10,000 nobody waits', () => {
    const { room, enter } = setUp();
    fill(room, 9_999);
    expect(enter('shop', 10).verdict).toBeInstanceOf(Promise);
    room.take(1, 'third');
    expect(code(enter('shop', 10).verdict)).toBe('ERR_LEDGER_BUFFER_FULL');
  });

  it('a caller that holds half is refused where others wait', () => {
    const { room, enter } = setUp();
    room.take(5_000, 'shop');
    fill(room, 4_000);
    expect(code(enter('shop', 10).verdict)).toBe('ERR_LEDGER_BUFFER_FULL');
    expect(enter('other', 10).verdict).toBeInstanceOf(Promise);
  });
});
