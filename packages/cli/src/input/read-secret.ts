import { SecretMissingError } from '../errors.js';
import type { Streams } from '../output/terminal.js';
import { readStdin } from './read-stdin.js';

/** Secrets from stdin when asked for, else from BESTNOTIFY_SECRET; several are separated by spaces or line ends. */
export async function readSecrets(
  streams: Pick<Streams, 'stdin' | 'env'>,
  { secretStdin = false }: { secretStdin?: boolean | undefined },
): Promise<string[]> {
  const text = secretStdin ? (await readStdin(streams)).toString() : (streams.env['BESTNOTIFY_SECRET'] ?? '');
  return text.split(/\s+/).filter((part) => part !== '');
}

/** The same, where there must be at least one. @throws {@link SecretMissingError} */
export async function requireSecrets(
  streams: Pick<Streams, 'stdin' | 'env'>,
  options: { secretStdin?: boolean | undefined },
): Promise<[string, ...string[]]> {
  const [first, ...rest] = await readSecrets(streams, options);
  if (first === undefined) throw new SecretMissingError();
  return [first, ...rest];
}
