import { BulkheadRefusedError, ExecutionTimeoutError } from './errors';

describe('what a bulkhead answers with', () => {
  it.each([
    ['full', 'bulkhead_tax_calc has neither a free permit nor a free place in its queue'],
    ['queue_timeout', 'bulkhead_tax_calc had no free permit within the longest wait'],
    ['client_abort', 'bulkhead_tax_calc was left by the caller'],
    ['draining', 'bulkhead_tax_calc is draining'],
  ] as const)('says why it refused: %s', (reason, message) => {
    expect(new BulkheadRefusedError('bulkhead_tax_calc', reason)).toMatchObject({
      name: 'BulkheadRefusedError',
      bulkhead: 'bulkhead_tax_calc',
      reason,
      message,
    });
  });

  it('says which limit an execution passed', () => {
    expect(new ExecutionTimeoutError('bulkhead_tax_calc', 10_000)).toMatchObject({
      name: 'ExecutionTimeoutError',
      bulkhead: 'bulkhead_tax_calc',
      message: 'bulkhead_tax_calc: the execution passed its limit of 10000 ms',
    });
  });

  it('walks no stack, and leaves the stacks of others alone', () => {
    const limit = Error.stackTraceLimit;
    const { stack } = new BulkheadRefusedError('b', 'full');
    expect([stack?.includes('\n'), Error.stackTraceLimit]).toEqual([false, limit]);
  });
});
