import { bulkhead, timeout, TimeoutStrategy, wrap } from 'cockatiel';
import { LIMIT_MS, PERMITS, QUEUE, type Candidate, type Does, type Subject, type Tally } from '../candidate';
import { callsInSequence, handOffs, hold, refusedCalls, type Enter } from '../drivers';

const alone: Does = {
  lease: 'yes',
  fifo: 'no',
  boundedQueue: 'partly',
  timeout: 'no',
  permitKept: 'no',
  signal: 'partly',
  counts: 'yes',
};
const withTimeout: Does = { ...alone, timeout: 'yes', signal: 'yes' };

const note =
  'a wait in the queue has no limit, and a caller that has gone keeps its place; passes on a signal it is given';
const noteWithTimeout = 'the permit comes back at the time limit, although the work goes on';

/** The limit counts from the beginning of the work, as ours does: the bulkhead is the outer one. */
function build(limited: boolean): Enter {
  const inner = bulkhead(PERMITS, QUEUE);
  if (!limited) return (work) => inner.execute(work);
  const policy = wrap(inner, timeout(LIMIT_MS, { strategy: TimeoutStrategy.Aggressive, abortOnReturn: false }));
  return (work) => policy.execute(work);
}

function calling(limited: boolean, held: number, drive: (enter: Enter, calls: number) => Promise<Tally>): Subject {
  const enter = build(limited);
  const close = hold(enter, held);
  return { run: (calls) => drive(enter, calls), close };
}

const plain = { peer: 'cockatiel', does: alone, note, call: 'bulkhead.execute' };
const limited = {
  peer: 'cockatiel',
  does: withTimeout,
  note: noteWithTimeout,
  call: 'wrap(bulkhead, timeout).execute',
};

export const cockatiel: readonly Candidate[] = [
  { ...plain, scenario: 'call', prepare: () => calling(false, 0, callsInSequence) },
  { ...limited, scenario: 'call', prepare: () => calling(true, 0, callsInSequence) },
  { ...plain, scenario: 'refused call', prepare: () => calling(false, PERMITS + QUEUE, refusedCalls) },
  { ...plain, scenario: 'hand-off', prepare: () => calling(false, 0, handOffs) },
  { ...limited, scenario: 'hand-off', prepare: () => calling(true, 0, handOffs) },
];
