export interface AuthorizationRequest {
  merchant_id: string;
  card_token: string;
  /** Integer in the currency's minor unit (ISO 4217): 1999 is 19.99 USD, and 1999 JPY. */
  amount_minor: number;
  currency: string;
}

export interface Authorization {
  id: string;
  status: 'APPROVED' | 'DECLINED' | 'PARTIALLY_CAPTURED' | 'CAPTURED' | 'REVERSED' | 'EXPIRED';
  /** ISO 8583; `00` is approved. A decline is an answer, not an error. */
  response_code: string;
  merchant_id: string;
  amount_minor: number;
  captured_minor: number;
  reversed_minor: number;
  expired_minor: number;
  refunded_minor: number;
  currency: string;
  created_at: string;
  expires_at: string;
}

/** What a look-up by key found. */
export type FoundByKey =
  | { state: 'done'; authorization: Authorization }
  /** Nothing is known under the key: the same request may be sent again under it. */
  | { state: 'absent' }
  /** It is being worked on right now. */
  | { state: 'in_flight' };
