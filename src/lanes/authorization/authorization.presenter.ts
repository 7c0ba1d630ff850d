import { publicId } from '../../shared/public-id';
import { type Authorization, statusOf } from './authorization';
import { AUTHORIZATION_PREFIX } from './authorization-id';
import type { AuthorizationAnswer } from './authorization.schemas';

/** An authorization as callers see it, its members in contract 9's order. */
export function presentAuthorization(authorization: Authorization): AuthorizationAnswer {
  return {
    id: publicId(AUTHORIZATION_PREFIX, authorization.rowId),
    status: statusOf(authorization, authorization.responseCode),
    response_code: authorization.responseCode,
    merchant_id: authorization.merchantId,
    amount_minor: authorization.amountMinor,
    captured_minor: authorization.capturedMinor,
    reversed_minor: authorization.reversedMinor,
    expired_minor: authorization.expiredMinor,
    refunded_minor: authorization.refundedMinor,
    currency: authorization.currency,
    created_at: authorization.createdAt.toISOString(),
    expires_at: authorization.expiresAt.toISOString(),
  };
}
