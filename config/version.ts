import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The version in package.json, which stands one folder higher beside the compiled files than beside the sources. */
export function productVersion(): string {
  for (let folder = __dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (!existsSync(file)) continue;
    return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  }
  throw new Error('There is no package.json above this file, so the version is unknown');
}
