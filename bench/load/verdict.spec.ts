import { voidReason } from './verdict';

const sound = { lagP99Ms: 4.9, lagP99MsMax: 5, overflow: 0, interrupted: false, undrained: false };

describe('voidReason', () => {
  it.each([
    [4.999, false],
    [5, false],
    [5.001, true],
  ])('judges a lag p99 of %d ms against 5 ms: void %s', (lagP99Ms, isVoid) => {
    expect(voidReason({ ...sound, lagP99Ms }) !== null).toBe(isVoid);
  });

  it.each([
    [{ overflow: 1 }, 'too many had no answer'],
    [{ interrupted: true }, 'interrupted'],
    [{ undrained: true }, 'outstanding'],
    [{ lagP99Ms: null }, 'no request was measured'],
  ])('is void with %j', (fault, reason) => {
    expect(voidReason({ ...sound, ...fault })).toContain(reason);
  });
});
