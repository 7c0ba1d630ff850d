/**
 * V8's young generation: up to three times as much for each process. Larger ones are collected less often, but a heap
 * bound that leaves no room for all of it turns each of its collections into one of the whole heap.
 */
const SEMI_SPACE_MIB_MAX = 16;

/**
 * How far the heap may grow on what lived after the last full collection. Under a bound V8 grows it in small steps and
 * marks the whole heap every few seconds, a tenth of a lane's CPU under load and its longest pauses (bench/README.md).
 */
const HEAP_GROWING_PERCENT = 100;

/**
 * All lanes in one heap, of which some 70 MiB live. Left to itself V8 sizes its generations by the machine's memory, and
 * a process that serves a few thousand requests a second grows by garbage alone to several hundred.
 */
export const ALL_HEAP_MIB_MAX = 256;

/** Node's options for a process whose memory stays flat under load, and which dies alone where it does not. */
export function memoryOptions(heapMibMax: number): string[] {
  return [
    `--max-old-space-size=${heapMibMax}`,
    `--max-semi-space-size=${SEMI_SPACE_MIB_MAX}`,
    `--heap-growing-percent=${HEAP_GROWING_PERCENT}`,
  ];
}
