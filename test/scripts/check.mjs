// `npm run check`: everything that is judged without running the code.
import { fileURLToPath } from 'node:url';
import { bootstrap, root } from './bootstrap.mjs';
import { main } from './interrupt.mjs';
import { runQuietly } from './run-quietly.mjs';

const checks = [
  { script: 'format:check', nextStep: 'Run `npm run format`.' },
  { script: 'lint', nextStep: 'Many of these are mended by `npm run lint -- --fix`.' },
  { script: 'typecheck', nextStep: 'Mend the types named above.' },
  { script: 'unused', nextStep: 'Delete what is unused, or use it.' },
];

/** Runs each check, prints a line for it and the output of a failed one, and counts. */
export async function runChecks() {
  const counts = { passed: 0, failed: 0 };
  for (const { script, nextStep } of checks) {
    const startedAtMs = performance.now();
    const failure = await runQuietly('npm', ['run', '--silent', script], { cwd: root, nextStep }).then(
      () => undefined,
      (error) => error.message,
    );
    counts[failure === undefined ? 'passed' : 'failed']++;
    const seconds = Math.round((performance.now() - startedAtMs) / 1_000);
    console.log(`${failure === undefined ? 'passed' : 'FAILED'}  ${script} (${seconds} s)`);
    if (failure !== undefined) console.log(failure);
  }
  return counts;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(async () => {
    await bootstrap();
    const { failed } = await runChecks();
    process.exitCode = failed === 0 ? 0 : 1;
  });
}
