// Brings a clone to the point where its scripts can run: packages as locked, sources compiled into dist. It runs before
// `npm start`, `npm test` and others, on whatever Node the machine has (20 or newer) and with nothing installed, and says
// nothing where nothing is to be done. Progress goes to standard error: what a script prints belongs to the script.
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { exclusively, Failure, read } from './prepare-lock.mjs';
import { Packages } from './prepare-packages.mjs';
import { endRequested, Steps } from './prepare-steps.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const at = (...parts) => join(root, ...parts);

const buildStamp = at('dist', '.payment-core-build');
const SOURCES = ['src', 'config', 'migrations', 'scripts', 'tools', 'bench', 'examples'];
const SOURCE_FILES = ['tsconfig.json', 'tsconfig.build.json', 'nest-cli.json', 'ormconfig.ts', 'package.json'];

const say = (line) => process.stderr.write(`payment-core: ${line}\n`);

// A terminal that is gone must not end a set-up that still has a step to end.
process.stderr.on('error', () => undefined);

const signal = endRequested();
const steps = new Steps(root, at('.data', 'prepare.step'), signal);
const packages = new Packages(root);

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

function npm(args) {
  const cli = process.env.npm_execpath;
  return cli?.endsWith('.js')
    ? steps.run(process.execPath, [cli, ...args], process.env)
    : steps.run('npm', args, process.env);
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
  const code = await steps.run('sh', args, { ...process.env, NODE_OPTIONS: '' });
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

/** What a person can do about it; a stack where that is not known. */
function explain(error) {
  if (error instanceof Failure) return error.message;
  if (error?.syscall === 'spawn npm') return "'npm' is not in PATH, and packages are to be installed";
  if (!['EACCES', 'EPERM', 'EROFS'].includes(error?.code)) return error?.stack ?? String(error);
  return (
    `something is to be set up, but this user may not touch ${error.path ?? root} (${error.code}).\n` +
    'Run this as the user to whom the clone belongs, or use a clone of your own.'
  );
}

try {
  if (!packages.upToDate() || read(buildStamp) !== sourcesHash()) {
    const setUp = async () => {
      await steps.endLeft(say);
      await packages.ensure(step, npm);
      await ensureBuild();
    };
    await exclusively(at('.data'), setUp, say, signal);
    // Whoever asked to end between two steps does not want what comes after this script.
    signal.throwIfAborted();
  }
} catch (error) {
  say(explain(error));
  process.exitCode = signal.aborted ? 130 : 1;
}
