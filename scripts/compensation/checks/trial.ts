import { sealCertificate } from '../../../src/lanes/tax/compensation/certificate';
import type { CompensationTable } from '../../../src/lanes/tax/compensation/compensation-table';
import type { Verification } from '../../../src/lanes/tax/compensation/verify-compensation';

const NOTHING = '0'.repeat(64);

/**
 * A table under trial as the estimator takes it: its arithmetic is what is being proven, so there is no certificate yet.
 * The one that stands in for it is never written.
 */
export function trialOf(table: CompensationTable): Verification {
  const certificate = sealCertificate({
    version: 1,
    table_sha256: NOTHING,
    simulator_sha256: NOTHING,
    authority_sha256: NOTHING,
    authority_version: 'under trial',
    certified_on: '1970-01-01',
    expires_at: '1970-01-02T00:00:00.000Z',
    expires_because: 'under trial',
    rows: 1,
    jurisdictions: 1,
    excluded: 0,
    deviation_max: '0',
    golden_baskets: 1,
    rounding_cases: 1,
    estimates_per_second: 1,
  });
  return { accepted: true, table, certificate };
}
