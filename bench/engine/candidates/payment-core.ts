import { Bulkhead } from '../../../src/bulkhead/bulkhead';
import { systemClock } from '../../../src/platform/system-clock';
import { LIMIT_MS, OURS, PERMITS, QUEUE, type Candidate, type Does, type Subject, type Tally } from '../candidate';
import { callsInSequence, handOffs, hold, refusedCalls, type Enter } from '../drivers';

const does: Does = {
  lease: 'yes',
  fifo: 'yes',
  boundedQueue: 'yes',
  timeout: 'yes',
  permitKept: 'yes',
  signal: 'yes',
  counts: 'yes',
};
/** A permit taken by hand is bounded by its holder alone. */
const doesByHand: Does = { ...does, timeout: 'no', permitKept: 'no', signal: 'no', boundedQueue: 'no' };

function build(): Bulkhead {
  return new Bulkhead(
    {
      name: 'bench',
      permits: PERMITS,
      queueMax: QUEUE,
      queueWaitMsMax: LIMIT_MS,
      executionMsMax: LIMIT_MS,
      background: null,
    },
    systemClock,
  );
}

function byHand(bulkhead: Bulkhead, calls: number): Tally {
  let admitted = 0;
  for (let call = 0; call < calls; call += 1) {
    const permit = bulkhead.tryAcquire();
    if (typeof permit === 'string') continue;
    admitted += 1;
    permit.release();
  }
  return { admitted, refused: calls - admitted, overtaken: 0 };
}

function calling(held: number, drive: (enter: Enter, calls: number) => Promise<Tally>): Subject {
  const bulkhead = build();
  const enter: Enter = (work) => bulkhead.enter(work).result;
  const letGo = hold(enter, held);
  const close = (): void => {
    bulkhead.close();
    letGo();
  };
  return { run: (calls) => drive(enter, calls), close };
}

function taking(held: number): Subject {
  const bulkhead = build();
  for (let permit = 0; permit < held; permit += 1) bulkhead.tryAcquire();
  return { run: (calls) => byHand(bulkhead, calls), close: () => bulkhead.close() };
}

const ours = { peer: OURS, does, note: 'the signal is made when it is asked for' };

export const paymentCore: readonly Candidate[] = [
  { ...ours, does: doesByHand, note: '', scenario: 'permit', call: 'tryAcquire, release', prepare: () => taking(0) },
  { ...ours, scenario: 'call', call: 'enter', prepare: () => calling(0, callsInSequence) },
  {
    ...ours,
    does: doesByHand,
    note: '',
    scenario: 'refused permit',
    call: 'tryAcquire',
    prepare: () => taking(PERMITS),
  },
  { ...ours, scenario: 'refused call', call: 'enter', prepare: () => calling(PERMITS + QUEUE, refusedCalls) },
  { ...ours, scenario: 'hand-off', call: 'enter', prepare: () => calling(0, handOffs) },
];
