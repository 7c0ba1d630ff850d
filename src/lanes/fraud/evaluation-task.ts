import { createHmac, hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../../ingress/exchange';
import { keyedRequestOf } from '../../ingress/keyed-request';
import { publicId } from '../../shared/public-id';
import type { EvaluationTask } from './fraud';
import type { CreateEvaluation } from './fraud.schemas';

export const EVALUATION_PREFIX = 'evl_';
const ROW_ID_BYTES = 16;

/**
 * The row id of the evaluation under a key: the first 128 bits of the key's scope hash, which is SHA-256 of caller,
 * method, path and key. Whoever gets the same key from the same caller arrives at the same id.
 */
export function rowIdOf(scopeHash: Buffer): string {
  const hex = scopeHash.toString('hex', 0, ROW_ID_BYTES);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/**
 * Turns requests into tasks. It is the last that sees a card token: neither tasks nor rows hold anything from which
 * tokens could be tried without the key (contract 10).
 */
export class EvaluationTasks {
  readonly #key: Buffer;
  readonly #wallNowMs: () => number;

  /** @param fingerprintKey secret, and the same in every process of the lane for as long as history is to be found. */
  constructor(fingerprintKey: string, wallNowMs: () => number = () => Date.now()) {
    // Bound to this use: the setting may be a secret that something else is signed with.
    this.#key = hash('sha256', `payment-core:fraud-fingerprint:${fingerprintKey}`, 'buffer');
    this.#wallNowMs = wallNowMs;
  }

  /** The task that a `POST /v1/fraud/evaluations` asks for; its body has been validated. */
  of(request: FastifyRequest): EvaluationTask {
    const body = request.body as CreateEvaluation;
    const { scopeHash, payloadHash } = keyedRequestOf(request);
    return {
      id: publicId(EVALUATION_PREFIX, rowIdOf(scopeHash)),
      caller: callerOf(request).subject,
      payloadHash: this.#keyed('payload', payloadHash),
      request: {
        merchantId: body.merchant_id,
        cardFingerprint: this.fingerprintOf(body.card_token),
        amountMinor: body.amount_minor,
        currency: body.currency,
        country: body.country,
        occurredAt: new Date(body.occurred_at ?? this.#wallNowMs()),
      },
    };
  }

  /** HMAC-SHA-256 of a card token, 64 lower-case hexadecimal digits. */
  fingerprintOf(cardToken: string): string {
    return this.#keyed('card', cardToken).toString('hex');
  }

  #keyed(use: 'card' | 'payload', value: string | Buffer): Buffer {
    return createHmac('sha256', this.#key).update(`${use}:`).update(value).digest();
  }
}
