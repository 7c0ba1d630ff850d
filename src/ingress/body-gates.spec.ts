import type { FastifyReply, FastifyRequest } from 'fastify';
import { PaymentError } from '../shared/problem';
import { AwaitedBody } from './awaited-body';
import { BodyGates } from './body-gates';
import { Exchange } from './exchange';
import { edgeProblems } from './problems';
import type { RoutePolicy } from './route-policy';

const policy: RoutePolicy = {
  lane: 'orders',
  scope: 'orders',
  idempotencyKey: false,
  bodyBytesMax: 100,
  merchantMember: null,
  gated: true,
  bodyAsText: true,
};

function visit(route: RoutePolicy | null, hasBody = true) {
  const exchange = new Exchange(route, '/v1/orders', 0);
  const reply = {} as FastifyReply;
  if (hasBody) exchange.awaitedBody = new AwaitedBody(reply);
  return { request: {} as FastifyRequest, reply, exchange };
}

const full = new PaymentError({ code: 'ERR_FULL', status: 429, title: 'Full' }, 'Full');

it('asks the lane of a gated route that has a body, and nobody else', () => {
  const gates = new BodyGates();
  const asked: string[] = [];
  gates.open('orders', ({ exchange }) => {
    asked.push(String(exchange.policy?.lane));
    return full;
  });
  expect(gates.check(visit(policy))).toBe(full);
  for (const other of [visit(null), visit({ ...policy, gated: false }), visit(policy, false)]) {
    expect(gates.check(other)).toBeNull();
  }
  expect(asked).toEqual(['orders']);
});

it('serves no gated route whose lane has no gate', () => {
  expect(new BodyGates().check(visit(policy))).toMatchObject({ kind: edgeProblems.internal });
});

it('has one gate for a lane', () => {
  const gates = new BodyGates();
  gates.open('orders', () => null);
  expect(() => gates.open('orders', () => null)).toThrow('orders');
});
