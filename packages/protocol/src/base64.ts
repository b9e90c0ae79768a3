const alphabetPattern = /[^A-Za-z0-9+/]/;

/**
 * Decodes canonical base64 (RFC 4648 §4): this alphabet, full padding, unused bits zero; so that one value has one spelling.
 *
 * @returns the bytes, or the index of the first character that does not fit.
 */
export function decodeBase64(text: string): { bytes: Buffer } | { wrongAt: number } {
  const unpadded = text.replace(/={1,2}$/, '');
  const wrongAt = unpadded.search(alphabetPattern);
  if (wrongAt !== -1) return { wrongAt };
  const bytes = Buffer.from(text, 'base64');
  const canonical = bytes.toString('base64');
  if (canonical === text) return { bytes };
  let at = 0;
  while (at < text.length && text[at] === canonical[at]) at++;
  return { wrongAt: at };
}
