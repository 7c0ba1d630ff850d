import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of package.json, which stands one folder higher beside the compiled files than beside the sources. */
export function productFolder(): string {
  for (let folder = __dirname; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
  }
  throw new Error('There is no package.json above this file');
}

export function productVersion(): string {
  return (JSON.parse(readFileSync(join(productFolder(), 'package.json'), 'utf8')) as { version: string }).version;
}
