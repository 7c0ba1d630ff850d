/** Where goods go: what decides which tax is due. */
export interface ShipTo {
  /** ISO 3166-1 alpha-2, upper case. */
  readonly country: string;
  /** The subdivision's code without its country (`CA` of `US-CA`), upper case; null where none was given. */
  readonly region: string | null;
  /** As written by the caller, without surrounding spaces; null where none was given. */
  readonly postalCode: string | null;
}

export interface QuoteLine {
  /** The caller's own id, unique within the request. */
  readonly id: string;
  /** From 0, in minor units of the request's currency. */
  readonly amountMinor: number;
  /** The provider's category of the goods; null is the general rate. */
  readonly taxCode: string | null;
}

/** What a caller asks: the tax on these lines, sent there. */
export interface QuoteRequest {
  /** ISO 4217. */
  readonly currency: string;
  readonly shipTo: ShipTo;
  readonly lines: readonly QuoteLine[];
  /** From 0; 0 where none was given. */
  readonly shippingMinor: number;
}

export interface LineTax {
  readonly id: string;
  readonly taxMinor: number;
  /** A decimal fraction as text: `0.0825` is 8.25 %. */
  readonly rate: string;
}

/** The sums that an answer consists of, whoever found them. */
export interface TaxFigures {
  /** The sum of the lines' tax and the tax on shipping. */
  readonly taxMinor: number;
  /** The general rate at the place; a line of another tax code may have another. */
  readonly rate: string;
  readonly shippingTaxMinor: number;
  /** In the order of the request. */
  readonly lines: readonly LineTax[];
  /** `US-CA`, `CA-ON`, `DE`: the country, and its region where the rate depends on one. Bounded, so that it labels metrics. */
  readonly jurisdiction: string;
}

/** The provider's answer. */
export type Quote = TaxFigures;

/** A quote under the id that its caller knows it by. */
export interface StoredQuote {
  readonly id: string;
  readonly quote: Quote;
}

export type RateScope = 'country' | 'region' | 'postal_code';

/** What stands in for the provider's answer: from a table whose rates somebody has certified (ADV-UC-01). */
export interface Estimate extends TaxFigures {
  /** How specific the row was that it was taken from. */
  readonly rateScope: RateScope;
  readonly certificateId: string;
  /** A line had a tax code, which the table does not know: the general rate was taken for it. */
  readonly taxCodeIgnored: boolean;
}

/** Injection token of the process's {@link Estimator}. */
export const ESTIMATOR = Symbol('ESTIMATOR');

/** Synchronous and without I/O: it is asked within the 5 ms that a full lane has for its refusal. */
export interface Estimator {
  /**
   * Why the table failed its verification; null where it passed. The lane answers nothing then but
   * `ERR_UNTESTED_COMPENSATION_REJECTED`.
   */
  readonly rejection: string | null;
  /** Null where no certified row covers the place, and where the certificate has expired: never a default, never a guess. */
  estimate(request: QuoteRequest): Estimate | null;
}
