// `npm run bench -- <name> [arguments]`: runs test/bench/<name>.mjs on a PostgreSQL with production's durability and a Redis.
// Without a name it lists what there is.
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { main, startCommand } from './interrupt.mjs';
import { startServices } from './services.mjs';

const folder = path.join(root, 'test', 'bench');
const usage = '// npm run bench -- ';

await main(async () => {
  const [name, ...args] = process.argv.slice(2);
  const benchmarks = await readBenchmarks();
  if (name === undefined) {
    for (const each of benchmarks) console.log(`npm run bench -- ${each.usage}\n    ${each.measures}`);
    return;
  }
  const chosen = benchmarks.find((each) => each.name === name);
  if (!chosen) throw new Error(`There is no benchmark ${name}; there are ${benchmarks.map((b) => b.name).join(', ')}.`);

  await bootstrap();
  const services = await startServices({ durable: true, onProgress: (line) => console.error(line) });
  try {
    const { ended } = startCommand(process.execPath, [chosen.file, ...args], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, DATABASE_URL: services.databaseUrl, REDIS_URL: services.redisUrl },
    });
    const failure = await ended;
    if (failure !== undefined) throw new Error(`The benchmark failed: ${failure}.`);
  } finally {
    await services.stop();
  }
});

/** A benchmark begins with two lines of comment: how to run it, and what it measures. Other files are parts of one. */
async function readBenchmarks() {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.mjs')).map((file) => path.join(folder, file));
  const texts = await Promise.all(
    files.map(async (file) => ({ file, lines: (await readFile(file, 'utf8')).split('\n') })),
  );
  return texts
    .filter(({ lines: [first = ''] }) => first.startsWith(usage))
    .map(({ file, lines: [first, second] }) => ({
      file,
      name: path.parse(file).name,
      usage: first.slice(usage.length),
      measures: second.replace(/^\/\/ ?/, ''),
    }));
}
