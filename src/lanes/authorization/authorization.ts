/** ISO 8583 response codes of this issuer (contract 9), in the order in which they are decided: the first that fits. */
export const RESPONSE_CODES = ['03', '14', '41', '62', '54', '57', '61', '51', '00'] as const;
export type ResponseCode = (typeof RESPONSE_CODES)[number];

export type AuthorizationStatus = 'APPROVED' | 'DECLINED' | 'PARTIALLY_CAPTURED' | 'CAPTURED' | 'REVERSED' | 'EXPIRED';

/** The sums that say what became of an authorized amount, in minor units. */
export interface AuthorizationSums {
  readonly amountMinor: number;
  readonly capturedMinor: number;
  readonly reversedMinor: number;
  readonly expiredMinor: number;
  readonly refundedMinor: number;
}

/** An authorization as its row holds it. */
export interface Authorization extends AuthorizationSums {
  /** UUID; callers see it by way of `publicId`. */
  readonly rowId: string;
  readonly merchantId: string;
  readonly currency: string;
  readonly responseCode: ResponseCode;
  readonly createdAt: Date;
  /** Set for declines too, which hold nothing: the answer has the same members whatever was decided. */
  readonly expiresAt: Date;
}

/** What is asked for: a hold of so much on a card, for a merchant. */
export interface AuthorizationRequest {
  readonly merchantId: string;
  readonly cardToken: string;
  readonly amountMinor: number;
  readonly currency: string;
}

/** What can still be captured or reversed, or will expire; nothing for a decline. */
export function remainingMinor(sums: AuthorizationSums, responseCode: ResponseCode): number {
  if (responseCode !== '00') return 0;
  return sums.amountMinor - sums.capturedMinor - sums.reversedMinor - sums.expiredMinor;
}

/** Contract 9's table: status by whether anything was captured and whether anything remains. */
const statusByCapturedAndRemaining = {
  captured: { remains: 'PARTIALLY_CAPTURED', spent: 'CAPTURED' },
  untouched: { remains: 'APPROVED', spent: 'REVERSED' },
} as const satisfies Record<string, Record<string, AuthorizationStatus>>;

/**
 * Status follows from the sums and is stored nowhere. A refund changes none; nothing captured and nothing left is
 * `EXPIRED` if expiry took any of it, else `REVERSED`.
 */
export function statusOf(sums: AuthorizationSums, responseCode: ResponseCode): AuthorizationStatus {
  if (responseCode !== '00') return 'DECLINED';
  const row = statusByCapturedAndRemaining[sums.capturedMinor > 0 ? 'captured' : 'untouched'];
  const status = row[remainingMinor(sums, responseCode) > 0 ? 'remains' : 'spent'];
  return status === 'REVERSED' && sums.expiredMinor > 0 ? 'EXPIRED' : status;
}

/**
 * The authorization as it was first answered: a replayed answer is the original one (contract 8), whatever was captured
 * since. It is rebuilt from the columns that never change.
 */
export function asFirstAnswered(authorization: Authorization): Authorization {
  return { ...authorization, capturedMinor: 0, reversedMinor: 0, expiredMinor: 0, refundedMinor: 0 };
}
