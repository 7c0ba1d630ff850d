/** Unit specs stand beside the code; integration and e2e tests run on real PostgreSQL and Redis. */
const shared = {
  rootDir: __dirname,
  testEnvironment: 'node',
  extensionsToTreatAsEsm: [],
  moduleFileExtensions: ['ts', 'js', 'cjs', 'mjs', 'json', 'node'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.data/'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        module: { type: 'commonjs' },
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          keepClassNames: true,
        },
        sourceMaps: 'inline',
      },
    ],
  },
};

module.exports = {
  maxWorkers: 2,
  projects: [
    {
      ...shared,
      displayName: 'unit',
      // Some properties take seconds on a busy machine; a limit is for what hangs.
      testTimeout: 30_000,
      testMatch: ['<rootDir>/{src,config,scripts,tools,bench,examples}/**/*.spec.ts'],
    },
    {
      ...shared,
      displayName: 'integration',
      testMatch: ['<rootDir>/test/integration/**/*.test.ts'],
      globalTeardown: '<rootDir>/test/support/global-teardown.ts',
      setupFilesAfterEnv: ['<rootDir>/test/support/setup.ts'],
    },
    {
      ...shared,
      displayName: 'e2e',
      testMatch: ['<rootDir>/test/e2e/**/*.test.ts'],
      globalTeardown: '<rootDir>/test/support/global-teardown.ts',
      setupFilesAfterEnv: ['<rootDir>/test/support/setup.ts'],
    },
  ],
};
