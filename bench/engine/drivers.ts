import { setImmediate as macrotask } from 'node:timers/promises';
import { PERMITS, QUEUE, type Tally } from './candidate';

/** A call of the candidate: begins `work` under a permit, now or later, or refuses. */
export type Enter = (work: () => Promise<void>) => Promise<unknown>;

/**
 * A server comes back to its event loop, where Node looks through promises that were rejected without a listener. A loop
 * of awaits alone never would, and candidates that leave such promises behind would be measured with a growing list.
 */
const CALLS_PER_MACROTASK = 1_000;

const nothing = (): void => {};

/** Calls one after another, all of them admitted. */
export async function callsInSequence(enter: Enter, calls: number): Promise<Tally> {
  let admitted = 0;
  const work = async (): Promise<void> => {
    admitted += 1;
  };
  for (let call = 1; call <= calls; call += 1) {
    await enter(work);
    if (call % CALLS_PER_MACROTASK === 0) await macrotask();
  }
  return { admitted, refused: calls - admitted, overtaken: 0 };
}

/** Calls of a candidate that is full; listens as the admission interceptor does, with `then`. */
export async function refusedCalls(enter: Enter, calls: number): Promise<Tally> {
  let admitted = 0;
  let refused = 0;
  const work = async (): Promise<void> => {
    admitted += 1;
  };
  const note = (): void => {
    refused += 1;
  };
  for (let call = 1; call <= calls; call += 1) {
    await enter(work).then(nothing, note);
    if (call % CALLS_PER_MACROTASK === 0) await macrotask();
  }
  return { admitted, refused, overtaken: 0 };
}

/** More callers than permits: nearly every permit that comes back goes to one who waits for it. */
export async function handOffs(enter: Enter, calls: number): Promise<Tally> {
  const tally: Tally = { admitted: 0, refused: 0, overtaken: 0 };
  let tickets = 0;
  let latest = -1;
  const caller = async (): Promise<void> => {
    while (tickets < calls) {
      const ticket = tickets;
      tickets += 1;
      const work = async (): Promise<void> => {
        tally.admitted += 1;
        if (ticket < latest) tally.overtaken += 1;
        else latest = ticket;
        await Promise.resolve();
      };
      await enter(work).then(nothing, () => {
        tally.refused += 1;
      });
      if (ticket % CALLS_PER_MACROTASK === 0) await macrotask();
    }
  };
  await Promise.all(Array.from({ length: PERMITS + QUEUE }, caller));
  return tally;
}

/**
 * Calls that hold what they get until the returned function is called: a candidate's timers would keep the process alive.
 * The answers are nobody's.
 */
export function hold(enter: Enter, calls: number): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (let call = 0; call < calls; call += 1) enter(() => promise).catch(nothing);
  return resolve;
}
