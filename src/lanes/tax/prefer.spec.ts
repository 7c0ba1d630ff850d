import { prefersLenient } from './prefer';

it.each([
  'handling=lenient',
  'Handling = "lenient"',
  'HANDLING=LENIENT; strictly=no',
  'respond-async, wait=10, handling=lenient',
  'foo="a, handling=strict", handling=lenient',
  'handling=lenient, handling=strict',
])('%s', (prefer) => expect(prefersLenient(prefer)).toBe(true));

it.each([
  undefined,
  '',
  'handling',
  'handling=strict',
  'handling=strict, handling=lenient',
  'x-handling=lenient',
  'foo="handling=lenient"',
  'foo; handling=lenient',
  ',,,',
  '"',
])('%s is none', (prefer) => expect(prefersLenient(prefer)).toBe(false));

it('reads several headers as one', () => {
  expect(prefersLenient(['respond-async', 'handling=lenient'])).toBe(true);
});
