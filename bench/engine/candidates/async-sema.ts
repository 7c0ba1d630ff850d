import { Sema } from 'async-sema';
import { PERMITS, type Candidate, type Does, type Tally } from '../candidate';
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
    const token = semaphore.tryAcquire();
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
    const token = await semaphore.acquire();
    try {
      return await work();
    } finally {
      semaphore.release(token);
    }
  };

const sema = {
  peer: 'async-sema',
  does,
  note: 'its token is the same string for all: a second release adds a permit',
};
const close = (): void => {};

export const asyncSema: readonly Candidate[] = [
  {
    ...sema,
    scenario: 'permit',
    call: 'tryAcquire, release',
    prepare() {
      const semaphore = new Sema(PERMITS);
      return { run: (calls) => byHand(semaphore, calls), close };
    },
  },
  {
    ...sema,
    scenario: 'call',
    call: 'acquire, try … finally release',
    prepare() {
      const enter = guarded(new Sema(PERMITS));
      return { run: (calls) => callsInSequence(enter, calls), close };
    },
  },
  {
    ...sema,
    scenario: 'refused permit',
    call: 'tryAcquire',
    prepare() {
      const semaphore = new Sema(PERMITS);
      for (let token = 0; token < PERMITS; token += 1) semaphore.tryAcquire();
      return { run: (calls) => byHand(semaphore, calls), close };
    },
  },
  {
    ...sema,
    scenario: 'hand-off',
    call: 'acquire, try … finally release',
    prepare() {
      const enter = guarded(new Sema(PERMITS));
      return { run: (calls) => handOffs(enter, calls), close };
    },
  },
];
