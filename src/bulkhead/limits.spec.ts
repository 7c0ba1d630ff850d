import { assertLimits } from './limits';
import type { BulkheadLimits } from './limits';

const RIGHT: BulkheadLimits = {
  name: 'bulkhead_tax_calc',
  permits: 15,
  queueMax: 0,
  queueWaitMsMax: 0,
  executionMsMax: 1,
  background: { permitsMax: 0, inUseMax: 0 },
};

function check(limits: Partial<BulkheadLimits>): () => void {
  return () => assertLimits({ ...RIGHT, ...limits });
}

describe('the limits of a bulkhead', () => {
  it.each<[string, Partial<BulkheadLimits>]>([
    ['the smallest of all', {}],
    ['one permit', { permits: 1 }],
    ['workers that may hold every permit', { background: { permitsMax: 15, inUseMax: 15 } }],
    ['no workers', { background: null }],
  ])('may be %s', (_what, limits) => {
    expect(check(limits)).not.toThrow();
  });

  it.each<[string, number, string, (value: number) => Partial<BulkheadLimits>]>([
    ['permits', 0, 'a whole number from 1', (permits) => ({ permits })],
    ['permits', 1.5, 'a whole number from 1', (permits) => ({ permits })],
    ['queueMax', -1, 'a whole number from 0', (queueMax) => ({ queueMax })],
    ['queueWaitMsMax', -0.5, 'a finite number from 0', (queueWaitMsMax) => ({ queueWaitMsMax })],
    ['queueWaitMsMax', Infinity, 'a finite number from 0', (queueWaitMsMax) => ({ queueWaitMsMax })],
    ['executionMsMax', 0.5, 'a finite number from 1', (executionMsMax) => ({ executionMsMax })],
    ['executionMsMax', NaN, 'a finite number from 1', (executionMsMax) => ({ executionMsMax })],
    [
      'background.permitsMax',
      -1,
      'a whole number from 0',
      (permitsMax) => ({ background: { permitsMax, inUseMax: 0 } }),
    ],
    [
      'background.inUseMax',
      16,
      'a whole number from 0 to 15, the permits',
      (inUseMax) => ({ background: { permitsMax: 1, inUseMax } }),
    ],
  ])('say that %s of %d is wrong, and that it must be %s', (limit, value, right, limits) => {
    expect(check(limits(value))).toThrow(
      new RangeError(`bulkhead_tax_calc: ${limit} is ${value}, it must be ${right}`),
    );
  });
});
