import js from '@eslint/js';
import tseslint from 'typescript-eslint';
import paymentCore from './tools/lint/index.cjs';

/** Only `config/` reads the environment, so that every setting is validated once and can be shown. */
const environmentIsReadInConfig = {
  'no-restricted-properties': [
    'error',
    {
      object: 'process',
      property: 'env',
      message: 'Read settings through config/; it is the only reader of process.env.',
    },
  ],
};

export default tseslint.config(
  {
    ignores: [
      'dist/**',
      'node_modules/**',
      '.data/**',
      'coverage/**',
      'reports/**',
      'bench/results/**',
      'tools/lint/fixtures/**',
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: false }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/require-await': 'off',
      // Interfaces declare methods, and their users pass them on as the functions they are.
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/prefer-promise-reject-errors': 'error',
      eqeqeq: 'error',
      'no-console': 'error',
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 80, skipBlankLines: true, skipComments: true }],
    },
  },
  { files: ['src/**/*.ts', 'migrations/**/*.ts'], rules: environmentIsReadInConfig },
  {
    // No lane reaches a resource of another lane (contract 12, ADV-FD-01).
    files: ['src/**/*.ts', 'migrations/**/*.ts', 'scripts/setup/demo/**/*.ts'],
    plugins: { 'payment-core': paymentCore },
    rules: { 'payment-core/shared-failure-domain': ['error', { root: import.meta.dirname }] },
  },
  {
    files: ['**/*.spec.ts', 'test/**/*.ts'],
    rules: {
      'max-lines-per-function': 'off',
      'max-lines': ['error', { max: 700, skipBlankLines: true, skipComments: true }],
      '@typescript-eslint/explicit-module-boundary-types': 'off',
      // Jest's asymmetric matchers (`expect.any`) are typed `any`.
      '@typescript-eslint/no-unsafe-assignment': 'off',
    },
  },
  {
    files: ['scripts/**/*.{ts,mjs}', 'tools/**/*.ts', 'bench/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['**/*.{mjs,cjs,js}'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        module: 'writable',
        require: 'readonly',
        __dirname: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        setInterval: 'readonly',
        clearInterval: 'readonly',
        Buffer: 'readonly',
        fetch: 'readonly',
        SharedArrayBuffer: 'readonly',
        Int32Array: 'readonly',
        Atomics: 'readonly',
      },
    },
  },
);
