import { type CertificateStatement, sealCertificate, sha256Of } from '../certificate';
import type { CompensationTableFile } from '../compensation-table';
import type { CompensationFiles } from '../verify-compensation';

export const EXPIRES_AT = '2027-07-01T00:00:00.000Z';

/** A small table as a file. */
export const tableFile: CompensationTableFile = {
  version: 1,
  built_on: '2026-11-30',
  provider: 'a test',
  rows: [
    { jurisdiction: 'US-CA', postal_code: null, rate: '0.0725' },
    { jurisdiction: 'US-DE', postal_code: null, rate: '0' },
    { jurisdiction: 'DE', postal_code: null, rate: '0.19' },
  ],
  places_without_estimate: [],
};

export const tableBytes = Buffer.from(JSON.stringify(tableFile));

/** A statement of that table, with the changes that a test makes. */
export function statementOf(changes: Partial<CertificateStatement> = {}): CertificateStatement {
  return {
    version: 1,
    table_sha256: sha256Of(tableBytes),
    simulator_sha256: '1'.repeat(64),
    authority_sha256: '2'.repeat(64),
    authority_version: '2026-11-30',
    certified_on: '2026-11-30',
    expires_at: EXPIRES_AT,
    expires_because: 'a rate changes',
    rows: 3,
    jurisdictions: 3,
    excluded: 0,
    deviation_max: '0',
    golden_baskets: 1,
    rounding_cases: 1,
    estimates_per_second: 1_800,
    ...changes,
  };
}

/** Both files, in agreement. */
export function certifiedFiles(changes: Partial<CertificateStatement> = {}): CompensationFiles {
  return { table: tableBytes, certificate: Buffer.from(JSON.stringify(sealCertificate(statementOf(changes)))) };
}
