import type { FastifyRequest } from 'fastify';
import { Exchange } from '../../ingress/exchange';
import { EvaluationTasks } from './evaluation-task';
import type { CreateEvaluation } from './fraud.schemas';

const KEY = 'k'.repeat(32);
const TOKEN = 'card_secret_4711';
const NOW_MS = Date.parse('2026-11-30T12:00:00.123Z');
const usual: CreateEvaluation = {
  merchant_id: 'mer_a',
  card_token: TOKEN,
  amount_minor: 1_000,
  currency: 'USD',
  country: 'US',
};

interface Sent {
  readonly caller?: string;
  readonly key?: string;
  readonly body?: CreateEvaluation;
}

function request({ caller = 'checkout', key = 'order 1', body = usual }: Sent): FastifyRequest {
  const exchange = new Exchange(null, '/v1/fraud/evaluations', 0);
  exchange.caller = { subject: caller, scopes: new Set(['fraud']), merchants: '*' };
  exchange.idempotencyKey = key;
  return { method: 'POST', url: '/v1/fraud/evaluations', exchange, body } as unknown as FastifyRequest;
}

function taskOf(sent: Sent = {}, key = KEY) {
  return new EvaluationTasks(key, () => NOW_MS).of(request(sent));
}

describe('an evaluation’s task', () => {
  it('has an id that follows from caller and key, and from nothing else', () => {
    const { id } = taskOf();
    expect(id).toMatch(/^evl_[0-7][0-9A-Z]{25}$/);
    expect(taskOf({ body: { ...usual, amount_minor: 2 } }).id).toBe(id);
    expect(taskOf({}, 'another key '.repeat(3)).id).toBe(id);
    expect(new Set([id, taskOf({ caller: 'kiosk' }).id, taskOf({ key: 'order 2' }).id]).size).toBe(3);
  });

  it('is a job id: without a colon, and no number', () => {
    expect(taskOf().id).not.toMatch(/:|^\d+$/);
  });

  it('tells payloads apart, and not the order of members', () => {
    const { payloadHash } = taskOf();
    const { merchant_id, ...rest } = usual;
    expect(taskOf({ body: { ...rest, merchant_id } }).payloadHash).toEqual(payloadHash);
    for (const changes of [
      { amount_minor: 2 },
      { card_token: 'card_other' },
      { occurred_at: '2026-11-30T12:00:00Z' },
    ]) {
      expect(taskOf({ body: { ...usual, ...changes } }).payloadHash).not.toEqual(payloadHash);
    }
  });

  it('holds no card token, and nothing that tells one without the key', () => {
    const task = taskOf();
    expect(JSON.stringify(task)).not.toContain(TOKEN);
    expect(task.request.cardFingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect(taskOf({ key: 'order 2' }).request.cardFingerprint).toBe(task.request.cardFingerprint);
    const elsewhere = taskOf({}, 'another key '.repeat(3));
    expect(elsewhere.request.cardFingerprint).not.toBe(task.request.cardFingerprint);
    expect(elsewhere.payloadHash).not.toEqual(task.payloadHash);
  });

  it('was made when its caller says, or now', () => {
    expect(taskOf().request.occurredAt.toISOString()).toBe('2026-11-30T12:00:00.123Z');
    const occurred_at = '2026-11-29T13:00:00.5+02:00';
    expect(taskOf({ body: { ...usual, occurred_at } }).request.occurredAt.toISOString()).toBe(
      '2026-11-29T11:00:00.500Z',
    );
  });
});
