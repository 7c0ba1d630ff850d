const { TestEnvironment } = require('jest-environment-node');

/** Half of the suite's time, for what smaller tests see as well unless a hundred thousand calls are needed to see it. */
const VOLUME = /a hundred thousand of every kind|through twenty thousand works/;

/** The mutant that a test of this process has noticed already; Jest's own `bail` is out of reach for Stryker. */
let noticed;

/**
 * The first failure settles a mutant's fate; tests after it would only cost time, and a broken engine answers nobody, so
 * that each of them waits for its time limit.
 */
module.exports = class FailFastEnvironment extends TestEnvironment {
  handleTestEvent(event) {
    if (event.name === 'test_start' && VOLUME.test(event.test.name)) event.test.mode = 'skip';
    // Stryker's switch; not set in its first run, which is without a mutant.
    const mutant = process.env.__STRYKER_ACTIVE_MUTANT__;
    if (mutant === undefined) return;
    if (event.name === 'test_fn_failure' || event.name === 'hook_failure') noticed = mutant;
    if (event.name === 'test_start' && noticed === mutant) event.test.mode = 'skip';
  }
};
