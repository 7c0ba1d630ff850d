import { Sema } from 'async-sema';
import { PERMITS, type Candidate, type Does, type Subject, type Tally } from '../candidate';
import { callsInSequence, handOffs, type Enter } from '../drivers';

const does: Does = {
  lease: 'no',
  fifo: 'yes',
  boundedQueue: 'no',
  timeout: 'no',
  permitKept: 'no',
  signal: 'no',
  counts: 'no',
};

function byHand(semaphore: Sema, calls: number): Tally {
  let admitted = 0;
  for (let call = 0; call < calls; call += 1) {
    const token: unknown = semaphore.tryAcquire();
    if (token === undefined) continue;
    admitted += 1;
    semaphore.release(token);
  }
  return { admitted, refused: calls - admitted, overtaken: 0 };
}

/** As its documentation writes a call. */
const guarded =
  (semaphore: Sema): Enter =>
  async (work) => {
    const token: unknown = await semaphore.acquire();
    try {
      return await work();
    } finally {
      semaphore.release(token);
    }
  };

function calling(drive: (enter: Enter, calls: number) => Promise<Tally>): Subject {
  const enter = guarded(new Sema(PERMITS));
  return { run: (calls) => drive(enter, calls), close: () => {} };
}

function taking(held: number): Subject {
  const semaphore = new Sema(PERMITS);
  for (let token = 0; token < held; token += 1) semaphore.tryAcquire();
  return { run: (calls) => byHand(semaphore, calls), close: () => {} };
}

const sema = { peer: 'async-sema', does, note: 'its token is the same string for all: a second release adds a permit' };
const call = 'acquire, try … finally release';

export const asyncSema: readonly Candidate[] = [
  { ...sema, scenario: 'permit', call: 'tryAcquire, release', prepare: () => taking(0) },
  { ...sema, scenario: 'call', call, prepare: () => calling(callsInSequence) },
  { ...sema, scenario: 'refused permit', call: 'tryAcquire', prepare: () => taking(PERMITS) },
  { ...sema, scenario: 'hand-off', call, prepare: () => calling(handOffs) },
];
