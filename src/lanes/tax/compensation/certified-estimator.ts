import type { Estimate, Estimator, LineTax, QuoteRequest } from '../tax';
import { taxMinorOf, textOfRate } from './rate';
import type { Verification } from './verify-compensation';

/** Estimates from a table that somebody has certified, and none from any other (ADV-UC-01). */
export class CertifiedEstimator implements Estimator {
  readonly rejection: string | null;
  readonly #verification: Verification;
  readonly #expiresAtMs: number;
  readonly #wallNowMs: () => number;

  /** @param wallNowMs the date, not the monotonic clock: a certificate expires by the calendar. */
  constructor(verification: Verification, wallNowMs: () => number = () => Date.now()) {
    this.#verification = verification;
    this.#wallNowMs = wallNowMs;
    this.rejection = verification.accepted ? null : verification.rejection;
    this.#expiresAtMs = verification.accepted ? Date.parse(verification.certificate.expires_at) : 0;
  }

  estimate({ shipTo, lines, shippingMinor }: QuoteRequest): Estimate | null {
    const verification = this.#verification;
    if (!verification.accepted || this.#wallNowMs() >= this.#expiresAtMs) return null;
    const row = verification.table.find(shipTo);
    if (row === null) return null;

    const rate = textOfRate(row.rate);
    const taxes: LineTax[] = lines.map(({ id, amountMinor }) => ({
      id,
      taxMinor: taxMinorOf(amountMinor, row.rate),
      rate,
    }));
    const shippingTaxMinor = taxMinorOf(shippingMinor, row.rate);
    const taxMinor = taxes.reduce((sum, line) => sum + line.taxMinor, shippingTaxMinor);
    // Parts may be exact and their sum not: a figure that is off is no estimate.
    if (!Number.isSafeInteger(taxMinor)) return null;
    return {
      taxMinor,
      rate,
      shippingTaxMinor,
      lines: taxes,
      jurisdiction: row.jurisdiction,
      rateScope: row.scope,
      certificateId: verification.certificate.id,
      taxCodeIgnored: lines.some(({ taxCode }) => taxCode !== null),
    };
  }
}
