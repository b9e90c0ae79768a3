/**
 * How deep objects and arrays may nest, the outermost counting as 1. Deeper JSON is refused before it is parsed: whoever walks
 * the parsed value recursively (a logger, a validator, `JSON.stringify`) would exhaust the stack.
 */
export const maxDepth = 128;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** What `parseJson` made of the bytes: a value with its text, or the problem in words that quote none of them. */
export type ParsedJson = { value: unknown; text: string } | { problem: string };

/** Parses UTF-8 JSON without throwing. Of repeated names in one object the last wins, as `JSON.parse` has it. */
export function parseJson(body: Uint8Array): ParsedJson {
  if (startsWithBom(body)) return { problem: 'starts with a byte order mark; send plain UTF-8' };
  if (isDeeperThan(body, maxDepth)) return { problem: `nests deeper than ${maxDepth} levels` };
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    return { problem: 'is not valid UTF-8' };
  }
  try {
    return { value: JSON.parse(text) as unknown, text };
  } catch {
    return { problem: 'is not valid JSON' }; // the parser's own message quotes the text
  }
}

export function startsWithBom(body: Uint8Array): boolean {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
}

const quote = 0x22;
const backslash = 0x5c;
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d] as const;

/** Counts brackets outside strings. Safe on bytes: in UTF-8 no byte of a longer character equals an ASCII one. */
export function isDeeperThan(body: Uint8Array, limit: number): boolean {
  if (!hasMoreThan(body, limit)) return false;
  const { length } = body;
  let depth = 0;
  for (let at = 0; at < length; at++) {
    const byte = body[at];
    if (byte === quote) {
      for (at++; at < length && body[at] !== quote; at++) if (body[at] === backslash) at++;
    } else if (byte === openBrace || byte === openBracket) {
      if (++depth > limit) return true;
    } else if (byte === closeBrace || byte === closeBracket) depth--;
  }
  return false;
}

/** Whether there are more than `limit` opening brackets at all, in strings or not. Most bodies have a handful, found by a native search. */
function hasMoreThan(body: Uint8Array, limit: number): boolean {
  let count = 0;
  for (const bracket of [openBrace, openBracket]) {
    for (let at = body.indexOf(bracket); at !== -1; at = body.indexOf(bracket, at + 1))
      if (++count > limit) return true;
  }
  return false;
}
