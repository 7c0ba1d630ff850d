/** The route's schemas as JSON Schema, which Fastify compiles: the same rules as `authorization.schemas.ts`. */
export interface CreateBody {
  readonly merchant_id: string;
  readonly card_token: string;
  readonly amount_minor: number;
  readonly currency: string;
}

export const bodySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['merchant_id', 'card_token', 'amount_minor', 'currency'],
  properties: {
    merchant_id: { type: 'string', minLength: 1, maxLength: 64, pattern: '^[^:\\u0000]+$' },
    card_token: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[^\\u0000]+$' },
    amount_minor: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    currency: { type: 'string', pattern: '^[A-Z]{3}$' },
  },
} as const;

export const headersSchema = {
  type: 'object',
  required: ['idempotency-key'],
  properties: { 'idempotency-key': { type: 'string', pattern: '^[\\x20-\\x7e]{1,255}$' } },
} as const;

const text = { type: 'string' } as const;
const minorUnits = { type: 'integer' } as const;

export const answerSchema = {
  type: 'object',
  properties: {
    id: text,
    status: text,
    response_code: text,
    merchant_id: text,
    amount_minor: minorUnits,
    captured_minor: minorUnits,
    reversed_minor: minorUnits,
    expired_minor: minorUnits,
    refunded_minor: minorUnits,
    currency: text,
    created_at: text,
    expires_at: text,
  },
} as const;
