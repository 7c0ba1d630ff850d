import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CompensationFiles } from './verify-compensation';

export const TABLE_FILE = 'compensation-table.json';
export const CERTIFICATE_FILE = 'certificate.json';

/** The table and its certificate as they stand in the folder. Read once, before the process serves. */
export function readCompensationFiles(folder: string): CompensationFiles {
  return { table: bytesOf(join(folder, TABLE_FILE)), certificate: bytesOf(join(folder, CERTIFICATE_FILE)) };
}

/** Null for a file that is not there; any other trouble with it is thrown as it is. */
function bytesOf(path: string): Uint8Array | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
