import { sealCertificate, sha256Of } from './certificate';
import { certifiedFiles, statementOf, tableBytes, tableFile } from './testing/certified';
import { type CompensationFiles, verifyCompensation } from './verify-compensation';

const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const rejectionOf = (files: CompensationFiles): string => {
  const verification = verifyCompensation(files);
  return verification.accepted ? 'accepted' : verification.rejection;
};

describe('verification', () => {
  it('accepts a table with a certificate of its own', () => {
    const verification = verifyCompensation(certifiedFiles());
    expect(verification).toMatchObject({ accepted: true });
    expect(verification.accepted && verification.table.size).toBe(tableFile.rows.length);
  });

  it('accepts one whose certificate has expired: time withdraws estimates and stops nothing', () => {
    expect(verifyCompensation(certifiedFiles({ expires_at: '2020-01-01T00:00:00.000Z' }))).toMatchObject({
      accepted: true,
    });
  });

  it.each<[string, (files: CompensationFiles) => CompensationFiles, RegExp]>([
    ['there is no table', (files) => ({ ...files, table: null }), /compensation-table\.json is missing/],
    ['there is no certificate', (files) => ({ ...files, certificate: null }), /certificate\.json is missing/],
    [
      'the certificate is of another table',
      (files) => ({ ...files, table: bytes({ ...tableFile, built_on: '2026-12-01' }) }),
      /is of another table/,
    ],
    [
      'one bit of the table is another',
      (files) => ({ ...files, table: Uint8Array.from(tableBytes, (byte, index) => (index === 100 ? byte ^ 1 : byte)) }),
      /is of another table/,
    ],
    [
      'the certificate’s expiry was put off by hand',
      () => ({
        table: tableBytes,
        certificate: bytes({ ...sealCertificate(statementOf()), expires_at: '2029-01-01T00:00:00.000Z' }),
      }),
      /was changed after it was written/,
    ],
    ['the certificate is no JSON', (files) => ({ ...files, certificate: Buffer.from('{') }), /it is no JSON/],
    [
      'the certificate lacks a member',
      (files) => ({ ...files, certificate: bytes({ id: 'x' }) }),
      /certificate\.json is unusable/,
    ],
  ])('rejects where %s, and says what to do', (_name, change, message) => {
    const rejection = rejectionOf(change(certifiedFiles()));
    expect(rejection).toMatch(/^ERR_UNTESTED_COMPENSATION_REJECTED: /);
    expect(rejection).toMatch(message);
    expect(rejection).toMatch(/npm run compensation:certify/);
  });

  it('rejects a certified table that cannot be used: the paper proves its bytes, not their meaning', () => {
    const table = bytes({ ...tableFile, rows: [...tableFile.rows, tableFile.rows[0]] });
    const certificate = bytes(sealCertificate(statementOf({ table_sha256: sha256Of(table) })));
    expect(rejectionOf({ table, certificate })).toMatch(/unusable \(Two rows for US-CA\)/);
  });
});
