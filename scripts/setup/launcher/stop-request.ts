import { setTimeout as sleep } from 'node:timers/promises';
import { hangupIgnored } from '../os/hangup';
import { say } from '../report';

/** npm passes on what the terminal has sent to the whole group already: the two are one request. */
const SAME_REQUEST_MS = 1_000;

/** Thrown where a start is broken off because somebody asked to stop. */
export class StopRequested extends Error {}

/** The wish to end, by signal. The first drains; a later one, meant as such, ends at once. */
export class StopRequest {
  private resolveRequested!: () => void;
  private resolveForced!: () => void;
  readonly requested = new Promise<void>((resolve) => (this.resolveRequested = resolve));
  readonly forced = new Promise<void>((resolve) => (this.resolveForced = resolve));
  private lastAt: number | null = null;

  constructor() {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => this.onSignal(signal));
    const survives = hangupIgnored();
    // A listener in both cases: without one Node ends at a hangup.
    process.on('SIGHUP', () => survives || this.onSignal('SIGHUP'));
  }

  get isRequested(): boolean {
    return this.lastAt !== null;
  }

  /** @throws StopRequested between two steps of a start. */
  check(): void {
    if (this.isRequested) throw new StopRequested('asked to stop');
  }

  /** Waits, but not past a wish to end. */
  async wait(ms: number): Promise<void> {
    await Promise.race([sleep(ms, undefined, { ref: false }), this.requested]);
  }

  private onSignal(signal: NodeJS.Signals): void {
    const now = performance.now();
    const first = this.lastAt === null;
    if (this.lastAt !== null && now - this.lastAt < SAME_REQUEST_MS) return;
    this.lastAt = now;
    if (first) {
      say(`${signal}: draining, then stopping (once more to end at once)`);
      this.resolveRequested();
    } else {
      say(`${signal} again: ending at once`);
      this.resolveForced();
    }
  }
}
