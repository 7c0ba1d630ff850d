export interface BulkheadLimits {
  /** Metric label, as in the lane table. */
  name: string;
  permits: number;
  /** Waiters at most; 0 = shed at once. */
  queueMax: number;
  /** Longest wait in the queue. */
  queueWaitMsMax: number;
  /** From the grant of the permit. Beyond it the caller is answered; the permit waits for the work (contract 6). */
  executionMsMax: number;
  /**
   * What the lane's own workers may hold: `permitsMax` of the permits at most, and none that would bring those in
   * use, itself included, above `inUseMax`. Null where a lane has no such workers.
   */
  background: { permitsMax: number; inUseMax: number } | null;
}

/** Throws a RangeError that says which limit of which bulkhead is wrong, and what would be right. */
export function assertLimits(limits: BulkheadLimits): void {
  const { name, permits, queueMax, queueWaitMsMax, executionMsMax, background } = limits;
  const requireThat = (holds: boolean, limit: string, value: number, right: string): void => {
    if (!holds) throw new RangeError(`${name}: ${limit} is ${value}, it must be ${right}`);
  };
  const isWhole = (value: number, min: number): boolean => Number.isSafeInteger(value) && value >= min;
  requireThat(isWhole(permits, 1), 'permits', permits, 'a whole number from 1');
  requireThat(isWhole(queueMax, 0), 'queueMax', queueMax, 'a whole number from 0');
  requireThat(isDuration(queueWaitMsMax, 0), 'queueWaitMsMax', queueWaitMsMax, 'a finite number from 0');
  requireThat(isDuration(executionMsMax, 1), 'executionMsMax', executionMsMax, 'a finite number from 1');
  if (background === null) return;
  const { permitsMax, inUseMax } = background;
  requireThat(isWhole(permitsMax, 0), 'background.permitsMax', permitsMax, 'a whole number from 0');
  requireThat(
    isWhole(inUseMax, 0) && inUseMax <= permits,
    'background.inUseMax',
    inUseMax,
    `a whole number from 0 to ${permits}, the permits`,
  );
}

function isDuration(ms: number, minMs: number): boolean {
  return Number.isFinite(ms) && ms >= minMs;
}
