import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadMigrations } from './migrate-lanes';

class Later {
  async up(): Promise<void> {}
  async down(): Promise<void> {}
}
class Earlier extends Later {}

describe('the migrations in a folder', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'payment-core-migrations-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('are each lane’s own, oldest first; specs, type files and other exports are none', () => {
    mkdirSync(join(folder, 'tax'));
    const names = ['1764504000002-later.js', '1764504000001-earlier.js', '1764504000001-earlier.spec.js'];
    for (const name of [...names, '1764504000001-earlier.d.ts', 'notes.md'])
      writeFileSync(join(folder, 'tax', name), '');
    const load = (file: string): unknown =>
      file.includes('earlier') ? { Earlier } : { Later, TABLE: 'x', helper: () => 1 };
    expect(loadMigrations(folder, load)).toEqual({
      authorization: [],
      fraud: [],
      tax: [Earlier, Later],
      ledger: [],
    });
  });

  test('a folder that is not there has none', () => {
    expect(Object.values(loadMigrations(join(folder, 'none'), () => ({}))).flat()).toEqual([]);
  });
});
