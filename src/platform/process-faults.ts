import { closeSync, openSync } from 'node:fs';

/** Faults of the whole process, which reach every lane in it: they show what isolation by process is for. */
export interface ProcessFaults {
  /** The event loop stands still once for this long, right after the answer. */
  readonly blockEventLoopMs: number;
  /** Memory grows until the process dies. */
  readonly fillHeap: boolean;
  /** No file or socket can be opened while this lasts. */
  readonly exhaustDescriptors: boolean;
}

const HEAP_STEP_ITEMS = 1_000_000;
const HEAP_STEP_MS = 10;
/** Beyond any sane `ulimit -n`; a system without a limit must not be filled for ever. */
const DESCRIPTORS_MAX = 1_048_576;

/** Breaks the process it runs in, on request. */
export class ProcessFaultSwitch {
  #descriptors: number[] = [];
  #hoard: unknown[] = [];
  #filling: NodeJS.Timeout | null = null;

  /** Takes effect just after the present answer has been written. */
  set(faults: ProcessFaults): void {
    if (!faults.exhaustDescriptors) this.#releaseDescriptors();
    if (!faults.fillHeap) this.#releaseHeap();
    setTimeout(() => {
      if (faults.exhaustDescriptors) this.#takeDescriptors();
      if (faults.fillHeap && this.#filling === null) {
        this.#filling = setInterval(() => this.#hoard.push(new Array(HEAP_STEP_ITEMS).fill(0.5)), HEAP_STEP_MS);
      }
      if (faults.blockEventLoopMs > 0) blockEventLoop(faults.blockEventLoopMs);
    }, 20);
  }

  current(): ProcessFaults {
    return {
      blockEventLoopMs: 0,
      fillHeap: this.#filling !== null,
      exhaustDescriptors: this.#descriptors.length > 0,
    };
  }

  close(): void {
    this.#releaseDescriptors();
    this.#releaseHeap();
  }

  onApplicationShutdown(): void {
    this.close();
  }

  #takeDescriptors(): void {
    try {
      while (this.#descriptors.length < DESCRIPTORS_MAX) this.#descriptors.push(openSync('/dev/null', 'r'));
    } catch {
      // EMFILE: there are none left, as asked.
    }
  }

  #releaseDescriptors(): void {
    for (const descriptor of this.#descriptors.splice(0)) closeSync(descriptor);
  }

  #releaseHeap(): void {
    if (this.#filling !== null) clearInterval(this.#filling);
    this.#filling = null;
    this.#hoard = [];
  }
}

function blockEventLoop(durationMs: number): void {
  const endMs = performance.now() + durationMs;
  while (performance.now() < endMs);
}
