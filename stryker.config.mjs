/**
 * Mutation tests of the permit engine (`npm run mutation`; what survives is explained in docs/mutation.md). Minutes, not
 * seconds: not a part of `npm run check`.
 */
export default {
  mutate: ['src/bulkhead/**/*.ts', '!src/bulkhead/**/*.spec.ts'],
  testRunner: 'jest',
  testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
  jest: { projectType: 'custom', configFile: 'test/support/mutation/jest.config.cjs', enableFindRelatedTests: false },
  coverageAnalysis: 'perTest',
  concurrency: 2,
  // A mutant of a loop or of a timer hangs; the suite takes seconds.
  timeoutMS: 10_000,
  timeoutFactor: 2,
  incremental: true,
  incrementalFile: 'reports/mutation/incremental.json',
  reporters: ['clear-text', 'progress-append-only', 'json', 'html'],
  jsonReporter: { fileName: 'reports/mutation/mutation.json' },
  htmlReporter: { fileName: 'reports/mutation/mutation.html' },
  clearTextReporter: { allowColor: false, reportTests: false, reportScoreTable: true },
  // Where every other tool looks away already.
  tempDirName: '.data/mutation',
  ignorePatterns: ['dist', '.data', 'reports', 'coverage', 'bench', 'docs', 'drill-results'],
  thresholds: { high: 97, low: 95, break: 95 },
};
