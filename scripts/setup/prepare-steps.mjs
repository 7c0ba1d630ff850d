// The steps of a set-up (npm, the compiler) write where the next set-up will: none of their processes may outlive the
// set-up that started them.
import { spawn } from 'node:child_process';
import { realpathSync, rmSync, writeFileSync } from 'node:fs';
import { Failure, read } from './prepare-lock.mjs';
import { endGroup, membersOf, startOf, worksIn } from './prepare-processes.mjs';

const LOOK_MS = 500;

/**
 * A signal that aborts when somebody asks this process to end, or when whoever started it is gone: `npm start` that was
 * killed starts nothing any more.
 */
export function endRequested() {
  const controller = new globalThis.AbortController();
  const abort = () => controller.abort(new Failure('interrupted; the next run goes on'));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, abort);
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && abort(), LOOK_MS).unref();
  return controller.signal;
}

export class Steps {
  #folder;
  #note;
  #signal;

  /** @param note the file that tells the next set-up which processes to look for, where this one is killed. */
  constructor(folder, note, signal) {
    this.#folder = folder;
    this.#note = note;
    this.#signal = signal;
  }

  /** @returns the exit code; all that it started has ended by then. @throws the reason to end, where there is one. */
  async run(file, args, env) {
    this.#signal.throwIfAborted();
    // A group of its own: the terminal's Ctrl-C reaches it through this process alone, which then waits for its end.
    // Standard output of the steps goes to standard error as well.
    const child = spawn(file, args, { cwd: this.#folder, env, stdio: ['ignore', 2, 2], detached: true });
    const ended = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve(code ?? 1));
    });
    if (child.pid === undefined) return ended;
    writeFileSync(this.#note, `${child.pid} ${startOf(child.pid) ?? ''}`);
    const aborted = new Promise((resolve) => this.#signal.addEventListener('abort', resolve, { once: true }));
    const code = await Promise.race([ended, aborted]);
    await this.#end(child.pid);
    this.#signal.throwIfAborted();
    return code;
  }

  /** Ends what a killed set-up left running: it would go on writing into what this one is about to write. */
  async endLeft(say) {
    const [group, startedAt] = (read(this.#note) ?? '').split(' ');
    if (group === '') return;
    const number = Number(group);
    const start = startOf(number);
    // A number is given again: to another project's processes, or to a later one with another start.
    const same = start === null || start === startedAt;
    const folder = realpathSync(this.#folder);
    const left = same ? membersOf(number).filter((pid) => worksIn(pid, folder)) : [];
    if (left.length > 0) {
      say(`ending what an earlier set-up left running (process ${left.join(', ')})`);
      await this.#end(number);
    }
    rmSync(this.#note, { force: true });
  }

  async #end(group) {
    if (!(await endGroup(group))) {
      throw new Failure(
        `process ${membersOf(group).join(', ')} of the set-up cannot be ended; end it and run this again`,
      );
    }
    rmSync(this.#note, { force: true });
  }
}
