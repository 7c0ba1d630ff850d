/**
 * fast-check as it is while a mutant is tried: fewer histories per property, whatever the spec asks for (the full figure
 * is for `npm test`), and no search for a smaller counterexample, which nobody reads.
 */
const FIXED = {
  numRuns: 60,
  endOnFailure: true,
  /** The same mutants die in every run, so that two scores can be compared. */
  seed: 20_240_601,
  /** A history takes milliseconds. One that never ends is a counterexample, not a reason to wait for Jest's limit. */
  timeout: 5_000,
};

// The mutation run's Jest configuration maps `fast-check` to this file, and this name to the package.
const { default: fc } = require('the-real-fast-check');

module.exports = {
  __esModule: true,
  default: {
    ...fc,
    assert: (property, parameters) => fc.assert(property, { ...parameters, ...FIXED }),
    /** The specs look with it for faults they have planted themselves, which says nothing about a mutant. */
    check: () => ({ failed: true }),
  },
};
