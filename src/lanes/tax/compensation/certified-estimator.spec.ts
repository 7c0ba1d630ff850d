import fc from 'fast-check';
import type { QuoteRequest } from '../tax';
import { CertifiedEstimator } from './certified-estimator';
import { certifiedFiles, EXPIRES_AT } from './testing/certified';
import { verifyCompensation } from './verify-compensation';

const verification = verifyCompensation(certifiedFiles());
const estimator = new CertifiedEstimator(verification, () => 0);

function request(changes: Partial<QuoteRequest> = {}): QuoteRequest {
  return {
    currency: 'USD',
    shipTo: { country: 'US', region: 'CA', postalCode: null },
    lines: [{ id: 'a', amountMinor: 1_000, taxCode: null }],
    shippingMinor: 0,
    ...changes,
  };
}

const anyAmount = fc.integer({ min: 0, max: 1_000_000_000_000 });

describe('an estimate', () => {
  it('says what is due, on what rate, and on whose authority', () => {
    const lines = [
      { id: 'a', amountMinor: 1_000, taxCode: null },
      { id: 'b', amountMinor: 20, taxCode: null },
    ];
    expect(estimator.estimate(request({ lines, shippingMinor: 599 }))).toEqual({
      // 72.5 and 1.45 and 43.4275, each rounded half up.
      taxMinor: 73 + 1 + 43,
      rate: '0.0725',
      shippingTaxMinor: 43,
      lines: [
        { id: 'a', taxMinor: 73, rate: '0.0725' },
        { id: 'b', taxMinor: 1, rate: '0.0725' },
      ],
      jurisdiction: 'US-CA',
      rateScope: 'region',
      certificateId: verification.accepted ? verification.certificate.id : '',
      taxCodeIgnored: false,
    });
  });

  it('says so where a line has a tax code, which the table does not know', () => {
    const lines = [{ id: 'a', amountMinor: 1_000, taxCode: '20010' }];
    expect(estimator.estimate(request({ lines }))).toMatchObject({ taxMinor: 73, taxCodeIgnored: true });
  });

  it('is zero where the table says zero', () => {
    const shipTo = { country: 'US', region: 'DE', postalCode: null };
    expect(estimator.estimate(request({ shipTo }))).toMatchObject({ taxMinor: 0, rate: '0', jurisdiction: 'US-DE' });
  });

  it('is not made where no row covers the place: no default, and no zero', () => {
    for (const shipTo of [
      { country: 'US', region: null, postalCode: null },
      { country: 'US', region: 'XX', postalCode: null },
      { country: 'FR', region: null, postalCode: null },
    ]) {
      expect(estimator.estimate(request({ shipTo }))).toBeNull();
    }
  });

  it('has parts that sum to its total, and grows with each of them', () => {
    fc.assert(
      fc.property(fc.array(anyAmount, { minLength: 1, maxLength: 50 }), anyAmount, (amounts, shippingMinor) => {
        const lines = amounts.map((amountMinor, index) => ({ id: `${index}`, amountMinor, taxCode: null }));
        const estimate = estimator.estimate(request({ lines, shippingMinor }));
        const more = estimator.estimate(
          request({ lines: lines.map((line) => ({ ...line, amountMinor: line.amountMinor + 1 })), shippingMinor }),
        );
        const sum = (estimate?.lines ?? []).reduce((total, line) => total + line.taxMinor, 0);
        return (
          estimate !== null &&
          more !== null &&
          estimate.taxMinor === sum + estimate.shippingTaxMinor &&
          more.taxMinor >= estimate.taxMinor &&
          estimate.lines.map(({ id }) => id).join() === lines.map(({ id }) => id).join()
        );
      }),
    );
  });

  it('takes ten thousand lines, and no sum that is not exact', () => {
    const lines = Array.from({ length: 10_000 }, (_, index) => ({ id: `${index}`, amountMinor: 333, taxCode: null }));
    expect(estimator.estimate(request({ lines }))).toMatchObject({ taxMinor: 10_000 * 24 });

    const shipTo = { country: 'DE', region: null, postalCode: null };
    const large = lines.map((line) => ({ ...line, amountMinor: Number.MAX_SAFE_INTEGER }));
    expect(estimator.estimate(request({ shipTo, lines: large.slice(0, 5) }))).not.toBeNull();
    expect(estimator.estimate(request({ shipTo, lines: large.slice(0, 6) }))).toBeNull();
    expect(estimator.estimate(request({ shipTo, lines: large }))).toBeNull();
  });

  it.each([
    [-1, true],
    [0, false],
    [1, false],
  ])('is made until its certificate expires: %d ms from then %p', (offsetMs, made) => {
    const at = new CertifiedEstimator(verification, () => Date.parse(EXPIRES_AT) + offsetMs);
    expect(at.estimate(request()) !== null).toBe(made);
    expect(at.rejection).toBeNull();
  });

  it('is never made from a table that was rejected', () => {
    const rejected = new CertifiedEstimator(verifyCompensation({ table: null, certificate: null }), () => 0);
    expect(rejected.rejection).toMatch(/^ERR_UNTESTED_COMPENSATION_REJECTED/);
    expect(rejected.estimate(request())).toBeNull();
  });
});
