import { existsSync, readdirSync } from 'node:fs';

/** `1764504000000-cards-and-merchants.js`, TypeORM's own order and naming. */
const MIGRATION_FILE = /^(\d{13})-([a-z0-9-]+?)\.(?:js|ts)$/;

/**
 * The names under which TypeORM records the migrations of a folder: each file's class is its words and its time
 * (`CardsAndMerchants1764504000000`). Read from the file names, so that a server loads no migration.
 */
export function migrationNamesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((file) => {
      const [, time, words] = MIGRATION_FILE.exec(file) ?? [];
      return time === undefined || words === undefined ? [] : [`${pascalCase(words)}${time}`];
    })
    .sort((a, b) => Number(a.slice(-13)) - Number(b.slice(-13)));
}

function pascalCase(words: string): string {
  return words
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}
