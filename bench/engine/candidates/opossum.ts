import CircuitBreaker from 'opossum';
import { LIMIT_MS, PERMITS, type Candidate, type Does, type Subject, type Tally } from '../candidate';
import { callsInSequence, hold, refusedCalls, type Enter } from '../drivers';

const does: Does = {
  lease: 'yes',
  fifo: 'no',
  boundedQueue: 'no',
  timeout: 'yes',
  permitKept: 'no',
  signal: 'no',
  counts: 'yes',
};

/** A semaphore and a time limit; the circuit itself never opens, whatever it sees, and no percentiles are kept. */
function calling(held: number, drive: (enter: Enter, calls: number) => Promise<Tally>): Subject {
  const breaker = new CircuitBreaker((work: () => Promise<void>) => work(), {
    capacity: PERMITS,
    timeout: LIMIT_MS,
    volumeThreshold: Number.MAX_SAFE_INTEGER,
    rollingPercentilesEnabled: false,
    enableSnapshots: false,
  });
  const enter: Enter = (work) => breaker.fire(work);
  const letGo = hold(enter, held);
  const close = (): void => {
    letGo();
    breaker.shutdown();
  };
  return { run: (calls) => drive(enter, calls), close };
}

const circuit = {
  peer: 'opossum',
  call: 'fire',
  does,
  note: 'no queue at all; the permit comes back at the time limit, although the work goes on; one abort controller for all calls; also counts for its circuit',
};

export const opossum: readonly Candidate[] = [
  { ...circuit, scenario: 'call', prepare: () => calling(0, callsInSequence) },
  { ...circuit, scenario: 'refused call', prepare: () => calling(PERMITS, refusedCalls) },
];
