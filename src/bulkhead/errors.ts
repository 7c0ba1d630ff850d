/** Why an execution was refused, or a waiter sent away, before its work began (contract 4.9). */
export type RefusalReason = 'full' | 'queue_timeout' | 'client_abort' | 'draining';

const REFUSALS = {
  full: 'has neither a free permit nor a free place in its queue',
  queue_timeout: 'had no free permit within the longest wait',
  client_abort: 'was left by the caller',
  draining: 'is draining',
} satisfies Record<RefusalReason, string>;

/**
 * An error without a stack trace. A full lane refuses thousands of times a second and within 5 ms (contract 14);
 * walking the stack would cost more than the refusal itself, and would only ever show the engine.
 */
abstract class StacklessError extends Error {
  readonly bulkhead: string;

  constructor(bulkhead: string, message: string) {
    const stackTraceLimit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.bulkhead = bulkhead;
  }
}

/** The work was never begun. Also the reason of an execution's signal when its caller has gone (`client_abort`). */
export class BulkheadRefusedError extends StacklessError {
  override readonly name = 'BulkheadRefusedError';
  readonly reason: RefusalReason;

  constructor(bulkhead: string, reason: RefusalReason) {
    super(bulkhead, `${bulkhead} ${REFUSALS[reason]}`);
    this.reason = reason;
  }
}

/** The work began and did not end within the execution limit; it may still be running (contract 6). */
export class ExecutionTimeoutError extends StacklessError {
  override readonly name = 'ExecutionTimeoutError';

  constructor(bulkhead: string, executionMsMax: number) {
    super(bulkhead, `${bulkhead}: the execution passed its limit of ${executionMsMax} ms`);
  }
}
