/** What the library's messages call by the names of its own code, and how the command line says it. */
const words: readonly (readonly [library: string, ours: string])[] = [
  ['allowHttp: true', '--allow-http'],
  ['generateSecret() makes one', '--generate-secret makes one'],
  ['endpoints.put', 'bestnotify endpoints put'],
  ['{ to, url, secret }', '--to, --url and a secret'],
];

/** A message of the library, in the words of the command line where it has others. */
export function inOwnWords(message: string): string {
  return words.reduce((text, [library, ours]) => text.replaceAll(library, ours), message);
}
