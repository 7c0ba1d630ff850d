/**
 * What Stryker runs against each mutant of the permit engine: the unit project, cut down to the engine's own specs. A
 * mutant that only a neighbour's spec would notice has survived: the engine is to be proved by its own.
 */
const { projects } = require('../../../jest.config.cjs');

const unit = projects.find(({ displayName }) => displayName === 'unit');

module.exports = {
  ...unit,
  maxWorkers: 1,
  testEnvironment: require.resolve('./fail-fast-environment.cjs'),
  testMatch: ['<rootDir>/src/bulkhead/**/*.spec.ts'],
  moduleNameMapper: {
    '^fast-check$': '<rootDir>/test/support/mutation/fast-check-few-runs.cjs',
    '^the-real-fast-check$': require.resolve('fast-check'),
  },
};
