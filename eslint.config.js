// Few rules, each on for a reason; what form looks like is prettier's business.
import js from '@eslint/js';
import tseslint from 'typescript-eslint';

const readsTheClock = [
  {
    selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
    message: 'Take the clock as a parameter.',
  },
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'Take the clock as a parameter.' },
  {
    selector: "CallExpression[callee.object.name='Math'][callee.property.name='random']",
    message: 'Take the random source as a parameter.',
  },
];

export default tseslint.config(
  { ignores: ['**/dist/**', '**/node_modules/**', '**/.turbo/**', '**/artifacts/**'] },
  js.configs.recommended,
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error', // a lost promise is a lost notification
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error', // a new verdict does not compile until it is handled
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrors: 'none' },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'max-params': ['error', 4],
      'no-console': 'error',
    },
  },
  {
    // Rules and steps are given the time and the dice: tests age rows, they do not step clocks.
    files: ['packages/*/src/**/*.ts'],
    rules: {
      'no-restricted-syntax': ['error', ...readsTheClock],
      'no-restricted-imports': [
        'error',
        { patterns: [{ regex: '^@bestnotify/[^/]+/src', message: 'Import the package, not its source.' }] },
      ],
    },
  },
  {
    files: ['test/**/*.ts', 'packages/*/test/**/*.ts', 'examples/**/*.ts'],
    rules: { 'no-console': 'off', '@typescript-eslint/no-non-null-assertion': 'off' },
  },
  {
    files: ['**/*.js', '**/*.mjs'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        Buffer: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        setInterval: 'readonly',
        clearInterval: 'readonly',
        performance: 'readonly',
        fetch: 'readonly',
        AbortController: 'readonly',
        AbortSignal: 'readonly',
        setImmediate: 'readonly',
      },
    },
  },
);
