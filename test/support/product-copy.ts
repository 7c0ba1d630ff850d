import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { projectRoot } from '../../scripts/setup/project';
import { atEndOfFile } from './closers';

/** What an installation consists of; packages are the same for all of them. */
const PARTS = ['package.json', 'nest-cli.json', 'dist', 'config/tax', 'tools/tax-provider/rates.json'];

/** An installation of its own, whose files a test may change. It is deleted at the end of the test file. */
export function copyOfProduct(): string {
  const folder = mkdtempSync(join(tmpdir(), 'payment-core-copy-'));
  for (const part of PARTS) {
    mkdirSync(dirname(join(folder, part)), { recursive: true });
    cpSync(join(projectRoot, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(projectRoot, 'node_modules'), join(folder, 'node_modules'));
  atEndOfFile(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
