import { spawn } from 'node:child_process';
import { Agent, request } from 'node:http';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lane } from '../../config/lanes';
import type { Topology } from '../support/topology';

/** What is done to the other lane's process; `bystander` is done to none, and says what a core that is taken costs by itself. */
export const FAULT_KINDS = ['block', 'heap', 'descriptors', 'kill', 'bystander'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export const faultTitles: Readonly<Record<FaultKind, string>> = {
  block: 'event loop blocked for 5 s',
  heap: 'heap filled until it dies',
  descriptors: 'file descriptors used up',
  kill: 'kill -9',
  bystander: 'control: another program computes for 5 s',
};

const BLOCK_MS = 5_000;
const REQUEST_MS_MAX = 3_000;
const ATTEMPTS_MAX = 8;
const RETRY_AFTER_MS = 250;

/**
 * Breaks a lane's process and mends it. It keeps one connection to the process open: one that has no descriptor left
 * accepts no new one, and could not be told that it is over.
 */
export class FaultInjector {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(
    private readonly topology: Topology,
    private readonly lane: Lane,
    private readonly operatorPassword: string,
  ) {}

  /** @returns whether it was done: a process that is not back from the last fault is tried again for a while. */
  async begin(kind: FaultKind): Promise<boolean> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      try {
        await this.#begin(kind);
        return true;
      } catch {
        await sleep(RETRY_AFTER_MS);
      }
    }
    return false;
  }

  /** Only what does not end by itself. Where the process cannot be told any more, it is killed. */
  async end(kind: FaultKind): Promise<'by itself' | 'told' | 'killed'> {
    if (kind !== 'descriptors') return 'by itself';
    try {
      await this.#put({});
      return 'told';
    } catch {
      // It may have died of the fault meanwhile; then there is nothing left to end.
      if (this.topology.pidOf(this.lane) !== null) this.#kill();
      return 'killed';
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  async #begin(kind: FaultKind): Promise<void> {
    switch (kind) {
      case 'block':
        return this.#put({ block_event_loop_ms: BLOCK_MS });
      case 'heap':
        return this.#put({ fill_heap: true });
      case 'descriptors':
        return this.#put({ exhaust_descriptors: true });
      case 'kill':
        return this.#kill();
      case 'bystander':
        return computeBeside();
      default:
        throw new Error(`Unknown fault ${String(kind satisfies never)}`);
    }
  }

  #kill(): void {
    const pid = this.topology.pidOf(this.lane);
    if (pid === null) throw new Error(`${this.lane} has no process just now`);
    process.kill(pid, 'SIGKILL');
  }

  #put(faults: object): Promise<void> {
    const body = JSON.stringify(faults);
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      authorization: `Basic ${Buffer.from(`operator:${this.operatorPassword}`).toString('base64')}`,
    };
    const url = `${this.topology.urlOf(this.lane)}/faults/${this.lane}`;
    const signal = AbortSignal.timeout(REQUEST_MS_MAX);
    return new Promise((resolve, reject) => {
      const sent = request(url, { method: 'PUT', agent: this.#agent, headers, signal }, (response) => {
        response.resume();
        response.once('end', () =>
          response.statusCode === 200 ? resolve() : reject(new Error(`${url} answered ${response.statusCode}`)),
        );
      });
      sent.once('error', reject);
      sent.end(body);
    });
  }
}

/** A program that is no part of the system, with the least priority that there is. */
function computeBeside(): void {
  const script = `const end = performance.now() + ${BLOCK_MS}; while (performance.now() < end);`;
  const { pid } = spawn(process.execPath, ['-e', script], { stdio: 'ignore' });
  if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_LOW);
}
