import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { runQuietly } from '../../scripts/run-quietly.mjs';

const folder = fileURLToPath(new URL('../', import.meta.url));

/**
 * Starts a process of its own for one subject, so that subjects do not share an event loop or a heap.
 *
 * @param file - a module in test/bench that calls `serve`.
 * @param options.node - another Node to run it with.
 * @returns `ask(verb, facts)`, which resolves to the child's answer, and `stop()`.
 */
export async function startChild(file, facts = {}, { node = process.execPath } = {}) {
  const child = fork(path.join(folder, file), [JSON.stringify(facts)], { execPath: node });
  let settle = () => undefined;
  child.on('message', (message) => settle(message));
  child.once('exit', () => settle({ failed: `${file} ended` }));
  const answer = async () => {
    const { failed, done } = await new Promise((resolve) => (settle = resolve));
    if (failed !== undefined) throw new Error(failed);
    return done;
  };
  await answer();
  return {
    pid: child.pid,
    ask: (verb, more = {}) => {
      child.send({ verb, facts: more });
      return answer();
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

/**
 * The other side: answers each `ask` by the function of that name.
 *
 * @param start - given the facts that the child was started with; returns functions by name, and `stop`.
 */
export async function serve(start) {
  const tell = (message) => process.send?.(message);
  const inWords = (error) => (error instanceof Error ? (error.stack ?? error.message) : String(error));
  try {
    const { stop, ...verbs } = await start(JSON.parse(process.argv[2] ?? '{}'));
    process.on('disconnect', () => {
      Promise.resolve(stop?.()).finally(() => process.exit(0));
    });
    process.on('message', ({ verb, facts }) => {
      verbs[verb](facts).then(
        (done) => tell({ done: done ?? null }),
        (error) => tell({ failed: inWords(error) }),
      );
    });
    tell({ done: null });
  } catch (error) {
    tell({ failed: inWords(error) });
    process.exit(1);
  }
}

/** Some other version of Node, fetched through npx into npm's cache. */
export async function nodeOfVersion(version) {
  const output = await runQuietly('npx', ['--yes', '-p', `node@${version}`, 'node', '-p', 'process.execPath'], {
    nextStep: `Node ${version} comes from the npm registry; check that it can be reached with \`npm ping\`.`,
  });
  return output.trim().split('\n').at(-1);
}
