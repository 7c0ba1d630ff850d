import { createHash } from 'node:crypto';
import { z } from 'zod';

/** A certificate never lasts longer (contract 10). */
export const CERTIFICATE_DAYS_MAX = 365;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const statementSchema = z.strictObject({
  version: z.literal(1),
  /** Of the file's bytes, so that one changed byte is another table. */
  table_sha256: sha256,
  simulator_sha256: sha256,
  authority_sha256: sha256,
  authority_version: z.string().min(1),
  certified_on: z.iso.date(),
  /** From this moment on it vouches for nothing. */
  expires_at: z.iso.datetime(),
  /** Why then: the longest time allowed, or a change of rates that is known. */
  expires_because: z.string().min(1),
  rows: z.number().int().positive(),
  jurisdictions: z.number().int().positive(),
  excluded: z.number().int().nonnegative(),
  /** The largest |table − authority| ÷ authority of a row. */
  deviation_max: z.string().regex(/^0(\.\d+)?$/),
  golden_baskets: z.number().int().positive(),
  rounding_cases: z.number().int().positive(),
  estimates_per_second: z.number().int().positive(),
});

/** What was proven of a table, before it is sealed. */
export type CertificateStatement = z.infer<typeof statementSchema>;

/** `config/tax/certificate.json`. */
export const certificateSchema = statementSchema.extend({
  id: z.string().regex(/^tcc_\d{4}-\d{2}-\d{2}_[0-9a-f]{8}$/),
  /** Of everything but itself and the id: shows a certificate that was edited or damaged. It is no signature. */
  seal_sha256: sha256,
});

export type Certificate = z.infer<typeof certificateSchema>;

export function sha256Of(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex');
}

export function sealCertificate(statement: CertificateStatement): Certificate {
  const seal = sealOf(statement);
  return { id: `tcc_${statement.certified_on}_${seal.slice(0, 8)}`, ...statement, seal_sha256: seal };
}

/** Whether it says what it said when it was written. */
export function isSealIntact({ id, seal_sha256: seal, ...statement }: Certificate): boolean {
  const expected = sealOf(statement);
  return seal === expected && id === `tcc_${statement.certified_on}_${expected.slice(0, 8)}`;
}

/** The order of members is the schema's, not the file's. */
function sealOf(statement: CertificateStatement): string {
  return sha256Of(JSON.stringify(statementSchema.parse(statement)));
}
