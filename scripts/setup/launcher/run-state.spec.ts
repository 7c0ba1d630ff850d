import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { becomeLauncher, livingLauncher, readRunState, writeRunState } from './run-state';

describe('one launcher per data folder', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'payment-core-run-state-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('a second one is refused with number and URL of the first, and changes nothing', () => {
    const release = becomeLauncher(folder);
    const launcher = livingLauncher(folder);
    if (launcher === null) throw new Error('Nobody is the launcher');
    const url = 'http://127.0.0.1:3000';
    writeRunState(folder, { launcher, application: null, url, postgresPort: 15_432, redisPort: null });
    expect(() => becomeLauncher(folder)).toThrow(new RegExp(`process ${process.pid}, ${url}`));
    expect(livingLauncher(folder)).toEqual(launcher);
    release();
    expect(livingLauncher(folder)).toBeNull();
  });

  test('the lock of a killed launcher is taken over, even where its number lives again', () => {
    writeFileSync(join(folder, 'launcher.lock'), JSON.stringify({ pid: process.pid, startedAt: '1' }));
    expect(livingLauncher(folder)).toBeNull();
    becomeLauncher(folder)();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('a lock that cannot be read belongs to nobody', () => {
    writeFileSync(join(folder, 'launcher.lock'), '{"pid":');
    becomeLauncher(folder)();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('no state, or half of one, is no state', () => {
    expect(readRunState(folder)).toBeNull();
    writeFileSync(join(folder, 'run.json'), '{"launcher":');
    expect(readRunState(folder)).toBeNull();
  });
});
