import { spawn } from 'node:child_process';
import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../project';
import { say } from '../report';

const FOLDERS = ['src', 'config', 'migrations', 'scripts'];
/** Editors write a file in several steps, and version control many files at once. */
const SETTLE_MS = 200;

/** Compiles after each change of the sources and tells when that has succeeded. */
export class Watcher {
  private readonly watchers: FSWatcher[];
  private timer: NodeJS.Timeout | null = null;
  private compiling = false;
  private again = false;
  private waiters: (() => void)[] = [];

  constructor() {
    this.watchers = FOLDERS.map((folder) =>
      watch(join(projectRoot, folder), { recursive: true }, (_event, name) => this.onChange(name ?? '')),
    );
  }

  /** Settles once, after the next change that compiles. */
  nextChange(): Promise<void> {
    return new Promise((resolve) => this.waiters.push(resolve));
  }

  close(): void {
    for (const watcher of this.watchers) watcher.close();
    if (this.timer !== null) clearTimeout(this.timer);
  }

  private onChange(name: string): void {
    if (name.endsWith('.spec.ts')) return;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = setTimeout(() => this.compile(), SETTLE_MS);
  }

  private compile(): void {
    this.again = this.compiling;
    if (this.compiling) return;
    this.compiling = true;
    const script = join(projectRoot, 'scripts', 'setup', 'prepare.mjs');
    const child = spawn(process.execPath, [script], { cwd: projectRoot, stdio: ['ignore', 2, 2] });
    child.once('exit', (code) => {
      this.compiling = false;
      if (this.again) {
        this.compile();
      } else if (code === 0) {
        for (const resolve of this.waiters.splice(0)) resolve();
      } else say('what ran before runs on');
    });
  }
}
