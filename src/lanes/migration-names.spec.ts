import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { LANES } from '../../config/lanes';
import { migrationNamesIn } from './migration-names';

const migrations = join(__dirname, '..', '..', 'migrations');

describe('migration names', () => {
  it.each(LANES)('%s: are those of the classes in the files', async (lane) => {
    const folder = join(migrations, lane);
    const names = migrationNamesIn(folder);
    const classes: string[] = [];
    for (const file of names.length === 0 ? [] : readdirSync(folder).sort()) {
      classes.push(...Object.keys((await import(join(folder, file))) as object));
    }
    expect(names).toEqual(classes);
  });

  it('finds the authorization lane’s history', () => {
    expect(migrationNamesIn(join(migrations, 'authorization')).length).toBeGreaterThan(0);
  });

  it('knows no migrations of a lane without a folder', () => {
    expect(migrationNamesIn(join(migrations, 'no-such-lane'))).toEqual([]);
  });
});
