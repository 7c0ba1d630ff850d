/** Whatever a benchmark opens, closed in the reverse order, once, however the benchmark ends. */
export class Closing {
  readonly #steps: { name: string; close: () => Promise<unknown> }[] = [];
  readonly #interrupt = new AbortController();
  #closed: Promise<void> | null = null;

  constructor() {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        console.error(`${signal}: stopping what was started`);
        this.#interrupt.abort(new Error(`ended by ${signal}`));
      });
    }
  }

  /** Aborted by Ctrl-C: loads end early and say so, and the benchmark goes on to its end. */
  get signal(): AbortSignal {
    return this.#interrupt.signal;
  }

  /** @throws what ended the benchmark, between two of its steps. */
  check(): void {
    this.#interrupt.signal.throwIfAborted();
  }

  add(name: string, close: () => Promise<unknown>): void {
    this.#steps.push({ name, close });
  }

  close(): Promise<void> {
    this.#closed ??= this.#closeAll();
    return this.#closed;
  }

  async #closeAll(): Promise<void> {
    for (const { name, close } of this.#steps.reverse()) {
      try {
        await close();
      } catch (error) {
        console.error(`${name} did not close: ${error instanceof Error ? error.message : String(error)}`);
        process.exitCode = 1;
      }
    }
  }
}

/** Runs a benchmark and closes everything; the process's exit code says whether it came to its end. */
export async function runBenchmark(work: (closing: Closing) => Promise<number>): Promise<void> {
  const closing = new Closing();
  try {
    process.exitCode = await work(closing);
  } catch (error) {
    const interrupted = closing.signal.aborted;
    const said =
      error instanceof Error ? (interrupted ? error.message : (error.stack ?? error.message)) : String(error);
    console.error(said);
    process.exitCode = 1;
  } finally {
    await closing.close();
  }
  // A handle that somebody forgot must not keep a terminal: everything that matters has been closed above.
  process.exit();
}
