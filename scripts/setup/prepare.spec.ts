import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identityOf } from './os/processes';

/** Stands in for npm: empties node_modules, installs slowly with a process of its own beside it, as npm's scripts are. */
const FAKE_NPM = `
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const slow = fs.existsSync('slow');
fs.rmSync('node_modules', { recursive: true, force: true });
fs.appendFileSync('installations', 'x');
fs.writeFileSync('npm.pid', String(process.pid));
if (fs.existsSync('deaf')) process.on('SIGTERM', () => undefined);
const script = spawn('sleep', [slow ? '60' : '0']);
fs.writeFileSync('script.pid', String(script.pid));
script.once('exit', () => {
  fs.cpSync('registry', 'node_modules', { recursive: true });
  if (slow) setTimeout(() => undefined, 60_000);
});
`;

interface Run {
  child: ChildProcess;
  output: () => string;
  code: Promise<number | null>;
}

describe('the set-up before each script', () => {
  let project: string;
  const at = (...parts: string[]): string => join(project, ...parts);
  const put = (path: string, content: string): void => {
    mkdirSync(join(at(path), '..'), { recursive: true });
    writeFileSync(at(path), content);
  };
  const stamp = (): string => at('node_modules', '.payment-core-packages');
  const installations = (): number => readFileSync(at('installations'), 'utf8').length;
  const pidIn = (file: string): number => Number(readFileSync(at(file), 'utf8'));
  const living = (): number[] => ['npm.pid', 'script.pid'].map(pidIn).filter((pid) => identityOf(pid) !== null);

  beforeEach(() => {
    project = mkdtempSync(join(tmpdir(), 'payment-core-prepare-'));
    mkdirSync(at('scripts', 'setup'), { recursive: true });
    for (const name of readdirSync(__dirname).filter((each) => each.endsWith('.mjs'))) {
      cpSync(join(__dirname, name), at('scripts', 'setup', name));
    }
    const packages = { 'node_modules/left': { version: '1.0.0' }, 'node_modules/right': { version: '2.0.0' } };
    put('package.json', '{}');
    put('package-lock.json', JSON.stringify({ packages: { '': {}, ...packages } }));
    put('registry/.package-lock.json', JSON.stringify({ packages }));
    put('registry/left/package.json', '{}');
    put('registry/right/package.json', '{}');
    put('npm.js', FAKE_NPM);
    // The compiler: it leaves the folder into which the stamp is put.
    put('scripts/node24', 'mkdir -p dist');
  });

  afterEach(() => rmSync(project, { recursive: true, force: true }));

  function prepare(): Run {
    const child = spawn(process.execPath, [at('scripts', 'setup', 'prepare.mjs')], {
      env: { PATH: '/usr/bin:/bin', npm_execpath: at('npm.js') },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let output = '';
    child.stderr.on('data', (text: Buffer) => (output += text.toString()));
    return { child, output: () => output, code: new Promise((resolve) => child.once('close', resolve)) };
  }

  async function completed(): Promise<string> {
    const run = prepare();
    const code = await run.code;
    expect({ code, output: code === 0 ? '' : run.output() }).toEqual({ code: 0, output: '' });
    return run.output();
  }

  /** A set-up whose installation is under way. */
  async function installing(): Promise<Run> {
    put('slow', '');
    const run = prepare();
    for (let tries = 0; !existsSync(at('script.pid')) && tries < 500; tries += 1) await sleep(20);
    rmSync(at('slow'));
    expect(living()).toHaveLength(2);
    return run;
  }

  test('says nothing and does nothing where all is as locked', async () => {
    expect(await completed()).toContain('installing packages');
    expect(await completed()).toBe('');
    expect(installations()).toBe(1);
  });

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '%s during an installation ends all of it before the next one begins',
    async (signal) => {
      const run = await installing();
      run.child.kill(signal);
      expect(await run.code).toBe(130);
      expect(living()).toEqual([]);
      expect(run.output()).toContain('interrupted; the next run goes on');
      expect(existsSync(stamp())).toBe(false);
      expect(readdirSync(at('.data'))).toEqual([]);
      await completed();
      expect(readdirSync(at('node_modules'))).toEqual(expect.arrayContaining(['left', 'right']));
    },
  );

  test('an installation that does not heed SIGTERM is killed', async () => {
    put('deaf', '');
    const run = await installing();
    run.child.kill('SIGTERM');
    expect(await run.code).toBe(130);
    expect(living()).toEqual([]);
  }, 15_000);

  test('what a killed set-up left running is ended by the next one', async () => {
    const run = await installing();
    run.child.kill('SIGKILL');
    // Its output stays open: the orphans write into it.
    await once(run.child, 'exit');
    const orphans = living();
    expect(orphans).toHaveLength(2);
    expect(await completed()).toContain(String(orphans[0]));
    expect(orphans.filter((pid) => identityOf(pid) !== null)).toEqual([]);
    expect(existsSync(at('node_modules', 'right', 'package.json'))).toBe(true);
  });

  test('a set-up whose parent is gone ends, and its installation with it', async () => {
    put('slow', '');
    const line = `"${process.execPath}" "${at('scripts', 'setup', 'prepare.mjs')}" & wait`;
    const shell = spawn('sh', ['-c', line], { env: { npm_execpath: at('npm.js') }, stdio: 'ignore' });
    for (let tries = 0; !existsSync(at('script.pid')) && tries < 500; tries += 1) await sleep(20);
    expect(living()).toHaveLength(2);
    shell.kill('SIGKILL');
    for (let tries = 0; existsSync(at('.data', 'prepare.lock')) && tries < 500; tries += 1) await sleep(20);
    expect(living()).toEqual([]);
  });

  test.each([
    ['a package is gone', () => rmSync(at('node_modules', 'left'), { recursive: true })],
    ['a package is half there', () => rmSync(at('node_modules', 'left', 'package.json'))],
    ['the list of what is installed is gone', () => rmSync(at('node_modules', '.package-lock.json'))],
    ['another version is installed', () => put('node_modules/.package-lock.json', otherVersion())],
  ])('%s: the next run installs anew', async (_what, damage) => {
    await completed();
    damage();
    await completed();
    expect(installations()).toBe(2);
    expect(await completed()).toBe('');
  });

  const otherVersion = (): string =>
    readFileSync(at('registry', '.package-lock.json'), 'utf8').replace('"2.0.0"', '"2.0.1"');

  test('an installation that ended well without all packages is a fault, and leaves no stamp', async () => {
    rmSync(at('registry', 'right'), { recursive: true });
    const run = prepare();
    expect(await run.code).toBe(1);
    expect(run.output()).toContain('node_modules/right');
    expect(existsSync(stamp())).toBe(false);
  });

  test('what somebody has installed by hand is taken as it is', async () => {
    cpSync(at('registry'), at('node_modules'), { recursive: true });
    expect(await completed()).not.toContain('installing');
    expect(existsSync(at('installations'))).toBe(false);
  });
});
