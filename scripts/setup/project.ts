import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The project's folder, whether this runs from the sources or from dist. */
export const projectRoot = findProjectRoot(__dirname);

function findProjectRoot(start: string): string {
  for (let folder = start; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json')) && existsSync(join(folder, 'nest-cli.json'))) return folder;
  }
  throw new Error(`No package.json above ${start}`);
}

export const projectVersion = (
  JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as { version: string }
).version;

/** Tells one clone's leftovers in shared places (the temporary folder, /var/lib) from another's. */
export const projectHash = createHash('sha256').update(projectRoot).digest('hex').slice(0, 12);
