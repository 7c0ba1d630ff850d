import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { freePort, portState } from '../os/ports';
import { say } from '../report';

const MAIN = join(__dirname, '..', '..', '..', 'tools', 'tax-provider', 'main.js');
const HOST = '127.0.0.1';
/** Contract 15: 3010 beside the usual 3000; `PORT` moves both. */
const PORTS_AFTER_MAIN = 10;
const PORT_USUAL = 3_000;
const PORT_MAX = 65_535;
/** A simulator that ends again and again has a reason that no further start takes away. */
const RESTARTS_MAX = 5;

/** The simulator's port, or another one where somebody has that: whoever drills reads it from the banner. */
export async function simulatorPort(variables: Readonly<Record<string, string | undefined>>): Promise<number> {
  const given = Number(variables['PORT']?.trim() || PORT_USUAL);
  const port = given + PORTS_AFTER_MAIN;
  if (port <= PORT_MAX && (await portState(HOST, port)) === 'free') return port;
  return freePort();
}

/**
 * The tax provider's simulator as long as the launcher runs. It has a group of its own, so that Ctrl-C reaches it only
 * through the launcher, after the application; it ends by itself when the launcher is killed.
 */
export class TaxSimulatorProcess {
  readonly url: string;
  readonly #port: number;
  #child: ChildProcess | null = null;
  #restarts = 0;
  #stopping = false;

  private constructor(port: number) {
    this.#port = port;
    this.url = `http://${HOST}:${port}`;
  }

  /** @throws Error where it did not come up. */
  static async start(port: number): Promise<TaxSimulatorProcess> {
    const simulator = new TaxSimulatorProcess(port);
    await simulator.#spawn();
    return simulator;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  }

  #spawn(): Promise<void> {
    const child = spawn(process.execPath, [MAIN, '--host', HOST, '--port', String(this.#port)], {
      // It needs nothing of what the launcher knows.
      env: {},
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: true,
    });
    this.#child = child;
    return new Promise((resolve, reject) => {
      child.once('message', () => {
        child.once('exit', () => this.#onExit());
        resolve();
      });
      child.once('error', reject);
      child.once('exit', () => reject(new Error(`The tax provider's simulator did not start on port ${this.#port}`)));
    });
  }

  #onExit(): void {
    if (this.#stopping || this.#restarts === RESTARTS_MAX) return;
    this.#restarts += 1;
    say("the tax provider's simulator has ended unexpectedly; starting it again");
    this.#spawn().catch((error: unknown) => say(error instanceof Error ? error.message : String(error)));
  }
}
