import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CERTIFICATE_FILE, TABLE_FILE } from '../../src/lanes/tax/compensation/compensation-files';
import { SetupError } from '../setup/setup-error';
import { projectRoot } from '../setup/project';

export const taxFolder = join(projectRoot, 'config', 'tax');

/** The three independent files, the list of places, and the paper that says that they agree. */
export const compensationPaths = {
  table: join(taxFolder, TABLE_FILE),
  certificate: join(taxFolder, CERTIFICATE_FILE),
  authority: join(taxFolder, 'authoritative-rates.json'),
  jurisdictions: join(taxFolder, 'jurisdictions.json'),
  simulator: join(projectRoot, 'tools', 'tax-provider', 'rates.json'),
} as const;

/** @throws SetupError where there is none: the message is for whoever typed the command. */
export function readNeeded(path: string, remedy: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new SetupError(`${path} is missing: ${remedy}`);
  }
}

/** The day in UTC, as certificates and changes of rates count it. */
export function todayUtc(now = new Date()): string {
  return now.toISOString().slice(0, 10);
}
