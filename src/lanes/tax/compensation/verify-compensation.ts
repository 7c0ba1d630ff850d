import { type Certificate, certificateSchema, isSealIntact, sha256Of } from './certificate';
import { CompensationTable, type CompensationTableFile, compensationTableSchema } from './compensation-table';

export const REJECTED = 'ERR_UNTESTED_COMPENSATION_REJECTED';

/** The two files as they were found; null where there is none. */
export interface CompensationFiles {
  readonly table: Uint8Array | null;
  readonly certificate: Uint8Array | null;
}

export type Verification =
  | { readonly accepted: true; readonly table: CompensationTable; readonly certificate: Certificate }
  | { readonly accepted: false; readonly rejection: string };

const BUILD = 'build it with `npm run compensation:build`, then certify it with `npm run compensation:certify`';
const CERTIFY = 'certify this table with `npm run compensation:certify`, or restore both files as they were committed';

/**
 * Whether somebody has certified exactly this table (ADV-UC-01). Time plays no part: a certificate that has expired is
 * still of its table, and withdraws estimates without stopping anything.
 */
export function verifyCompensation({ table, certificate }: CompensationFiles): Verification {
  if (table === null) return rejected('config/tax/compensation-table.json is missing', BUILD);
  if (certificate === null) return rejected('config/tax/certificate.json is missing', CERTIFY);

  const paper = parse(certificateSchema, certificate);
  if (typeof paper === 'string') return rejected(`config/tax/certificate.json is unusable (${paper})`, CERTIFY);
  if (!isSealIntact(paper)) {
    return rejected('config/tax/certificate.json was changed after it was written', CERTIFY);
  }
  const found = sha256Of(table);
  if (found !== paper.table_sha256) {
    const [ours, theirs] = [found, paper.table_sha256].map((hash) => hash.slice(0, 12));
    return rejected(`the certificate ${paper.id} is of another table: ${theirs}…, and this one is ${ours}…`, CERTIFY);
  }
  const file = parse(compensationTableSchema, table);
  if (typeof file === 'string') return rejected(`config/tax/compensation-table.json is unusable (${file})`, BUILD);
  return tableOf(file, paper);
}

function tableOf(file: CompensationTableFile, certificate: Certificate): Verification {
  try {
    return { accepted: true, table: new CompensationTable(file), certificate };
  } catch (error) {
    return rejected(`config/tax/compensation-table.json is unusable (${(error as Error).message})`, BUILD);
  }
}

function rejected(what: string, remedy: string): Verification {
  return { accepted: false, rejection: `${REJECTED}: ${what}; ${remedy}` };
}

interface Schema<T> {
  safeParse(
    value: unknown,
  ):
    | { success: true; data: T }
    | { success: false; error: { issues: readonly { path: PropertyKey[]; message: string }[] } };
}

/** The value, or what is wrong with it in a few words. */
function parse<T>(schema: Schema<T>, content: Uint8Array): T | string {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(content));
  } catch {
    return 'it is no JSON';
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  return issue === undefined ? 'it is malformed' : `${issue.path.join('.') || 'the whole'}: ${issue.message}`;
}
