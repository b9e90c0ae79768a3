// `npm run leaks`: plays the demo and the whole test suite with marked secrets on real services, then looks for them in all
// that was printed, in every database row outside the secrets' own tables, and in every command that Redis was given.
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { bootstrap, root } from './bootstrap.mjs';
import { main, startCommand } from './interrupt.mjs';
import { startServices } from './services.mjs';

const preload = path.join(root, 'test', 'leaks', 'mark-secrets.mjs');

await main(async () => {
  await bootstrap();
  const { findMarkers } = await import('../leaks/marker.mjs');
  const { watchPostgres } = await import('../leaks/watch-postgres.mjs');
  const { watchRedis } = await import('../leaks/watch-redis.mjs');
  const services = await startServices({ onProgress: (line) => console.log(line) });
  try {
    const rows = await watchPostgres(services.databaseUrl);
    const commands = await watchRedis(services.redisUrl);
    const env = {
      ...process.env,
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${preload}`,
      DATABASE_URL: services.databaseUrl,
      REDIS_URL: services.redisUrl,
    };
    console.log('demo…');
    const demo = await captured('node', ['examples/payment-platform/dist/main.js', '--once'], env);
    console.log('test suite…');
    const suite = await captured(
      path.join(root, 'node_modules', '.bin', 'vitest'),
      ['run', ...process.argv.slice(2)],
      env,
    );
    const leaks = [
      ...findMarkers(demo.text).map((place) => `demo output: ${place}`),
      ...findMarkers(suite.text).map((place) => `test output: ${place}`),
      ...(await rows.found()),
      ...commands.found().map((place) => `Redis: ${place}`),
    ];
    for (const leak of leaks) console.log(leak);
    const searched = {
      outputBytes: demo.text.length + suite.text.length,
      tables: await rows.searched(),
      redisCommands: commands.seen(),
    };
    await rows.close();
    commands.close();
    if (suite.failure !== undefined) console.log(resultsOf(suite.text));
    console.log(`demo ${demo.failure ?? 'played'}; suite ${suite.failure ?? 'passed'}`);
    console.log(JSON.stringify({ ...searched, leaks: leaks.length }));
    process.exitCode = leaks.length === 0 && demo.failure === undefined ? 0 : 1;
  } finally {
    await services.stop();
  }
});

/** Which tests failed, and how many did not: a suite that fails half-way has shown less than it could. */
function resultsOf(text) {
  return stripVTControlCharacters(Buffer.from(text, 'latin1').toString())
    .split('\n')
    .filter((line) => /^ *(FAIL|Test Files|Tests) /.test(line))
    .join('\n');
}

async function captured(command, args, env) {
  const { child, ended } = startCommand(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env });
  const chunks = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk));
  const failure = await ended;
  return { text: Buffer.concat(chunks).toString('latin1'), failure };
}
