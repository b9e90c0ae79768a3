// `npm test`: checks and tests on real services, from whatever state the clone is in. With arguments, only vitest runs,
// and is given them: `npm test -- backoff`, `npm test -- -t 'worker died'`.
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { runChecks } from './check.mjs';
import { countTests } from './count-tests.mjs';
import { main, startCommand } from './interrupt.mjs';
import { startServices } from './services.mjs';

await main(async () => {
  const vitestArguments = process.argv.slice(2);
  await bootstrap();
  const services = await startServices({ onProgress: (line) => console.log(line) });
  try {
    const { describeServices } = await import('./service-versions.mjs');
    console.log(`Services: ${await describeServices(services)}`);
    const checks = vitestArguments.length === 0 ? await runChecks() : { passed: 0, failed: 0 };
    const tests = await runVitest(vitestArguments, services);
    for (const line of tests.notes) console.log(line);
    const failed = checks.failed + tests.failed;
    const skipped = tests.skipped > 0 ? `, ${tests.skipped} skipped` : '';
    console.log(`${checks.passed + tests.passed} passed, ${failed} failed${skipped}`);
    process.exitCode = failed === 0 ? 0 : 1;
  } finally {
    await services.stop();
  }
});

/** Runs vitest in the open, and reads its own account of the run afterwards. */
async function runVitest(args, services) {
  const report = path.join(root, 'artifacts', 'vitest.json');
  await rm(report, { force: true });
  const { ended } = startCommand(
    path.join(root, 'node_modules', '.bin', 'vitest'),
    ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...args],
    {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, DATABASE_URL: services.databaseUrl, REDIS_URL: services.redisUrl },
    },
  );
  const failure = await ended;
  const text = await readFile(report, 'utf8').catch(() => undefined);
  return countTests(text === undefined ? undefined : JSON.parse(text), failure);
}
