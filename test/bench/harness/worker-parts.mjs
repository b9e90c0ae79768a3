import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const sources = fileURLToPath(new URL('../../../packages/sender/src/', import.meta.url));

/** A step of the worker, which the package does not export: read from its source. @param file - such as `worker/claim-batch.ts`. */
export async function workerPart(file) {
  const { module } = await runnerImport(path.join(sources, file), { logLevel: 'error' });
  return module;
}
