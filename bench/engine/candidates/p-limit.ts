import limitConcurrency from 'p-limit';
import { PERMITS, type Candidate, type Does, type Subject, type Tally } from '../candidate';
import { callsInSequence, handOffs, type Enter } from '../drivers';

const does: Does = {
  lease: 'yes',
  fifo: 'yes',
  boundedQueue: 'no',
  timeout: 'no',
  permitKept: 'no',
  signal: 'no',
  counts: 'no',
};

function calling(drive: (enter: Enter, calls: number) => Promise<Tally>): Subject {
  const limit = limitConcurrency(PERMITS);
  const enter: Enter = (work) => limit(work);
  return { run: (calls) => drive(enter, calls), close: () => {} };
}

const limiter = { peer: 'p-limit', call: 'limit', does, note: 'never refuses: its queue has no end' };

export const pLimit: readonly Candidate[] = [
  { ...limiter, scenario: 'call', prepare: () => calling(callsInSequence) },
  { ...limiter, scenario: 'hand-off', prepare: () => calling(handOffs) },
];
