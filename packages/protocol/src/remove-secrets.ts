const removed = '[removed]';
// A base64 value may have been escaped on its way: \/ in JSON, %2B in a URL.
const base64 = '[A-Za-z0-9+/=\\\\%_-]';
const secretPatterns: readonly [RegExp, string][] = [
  [new RegExp(`\\bwh(sec|sk)_${base64}+`, 'g'), `wh$1_${removed}`],
  [new RegExp(`\\b(v1a?)(,|%2C)${base64}{20,}`, 'gi'), `$1$2${removed}`],
  [/\b[0-9a-f]{64}\b/gi, removed],
  [new RegExp(`\\b(basic|bearer)(\\s+)${base64}{8,}`, 'gi'), `$1$2${removed}`],
  [/(https?:(?:\\?\/){2}[^\s"'<>?#]*)[?#][^\s"'<>]*/gi, `$1?${removed}`],
  [/(https?:(?:\\?\/){2})[^\s"'<>/?#@]*@/gi, `$1${removed}@`],
];

/** Text of others, without what looks like a signing secret, a signature, a credential or the query of a URL. */
export function removeSecrets(text: string): string {
  return secretPatterns.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), text);
}
