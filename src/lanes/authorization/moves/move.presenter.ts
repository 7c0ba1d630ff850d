import { publicId } from '../../../shared/public-id';
import { AUTHORIZATION_PREFIX, CAPTURE_PREFIX, REFUND_PREFIX, REVERSAL_PREFIX } from '../authorization-id';
import { presentAuthorization } from '../authorization.presenter';
import type { CaptureRecord, MoveKind, MoveRecord } from './move';
import type { CaptureAnswer, RefundAnswer, ReversalAnswer } from './move.schemas';

export const MOVE_PREFIXES = {
  capture: CAPTURE_PREFIX,
  reversal: REVERSAL_PREFIX,
  refund: REFUND_PREFIX,
} as const satisfies Record<MoveKind, string>;

export function presentCapture(capture: CaptureRecord): CaptureAnswer {
  return {
    id: publicId(CAPTURE_PREFIX, capture.rowId),
    authorization_id: publicId(AUTHORIZATION_PREFIX, capture.authorization.rowId),
    amount_minor: capture.amountMinor,
    currency: capture.authorization.currency,
    created_at: capture.createdAt.toISOString(),
    refunded_minor: capture.refundedMinor,
    authorization: presentAuthorization(capture.authorization),
  };
}

/** A capture as it was first answered, when nothing of it could have been refunded. */
export function presentNewCapture(record: MoveRecord): CaptureAnswer {
  return presentCapture({ ...record, refundedMinor: 0 });
}

export function presentReversal({ rowId, amountMinor, createdAt, authorization }: MoveRecord): ReversalAnswer {
  return {
    id: publicId(REVERSAL_PREFIX, rowId),
    authorization_id: publicId(AUTHORIZATION_PREFIX, authorization.rowId),
    amount_minor: amountMinor,
    currency: authorization.currency,
    created_at: createdAt.toISOString(),
    authorization: presentAuthorization(authorization),
  };
}

export function presentRefund(record: MoveRecord): RefundAnswer {
  const { rowId, captureRowId, amountMinor, createdAt, authorization } = record;
  if (captureRowId === null) throw new Error('A refund without its capture');
  return {
    id: publicId(REFUND_PREFIX, rowId),
    capture_id: publicId(CAPTURE_PREFIX, captureRowId),
    authorization_id: publicId(AUTHORIZATION_PREFIX, authorization.rowId),
    amount_minor: amountMinor,
    currency: authorization.currency,
    created_at: createdAt.toISOString(),
    authorization: presentAuthorization(authorization),
  };
}
