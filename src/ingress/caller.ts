/** The service that sent a request, as its verified token names it. */
export interface Caller {
  /** The token's `sub`: the identity that keys, quotas and quarrels belong to. */
  readonly subject: string;
  readonly scopes: ReadonlySet<string>;
  /** Merchants the caller may act for. */
  readonly merchants: ReadonlySet<string> | '*';
}

export function mayActFor(caller: Caller, merchantId: string): boolean {
  return caller.merchants === '*' || caller.merchants.has(merchantId);
}
