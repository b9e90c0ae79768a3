/**
 * How deep objects and arrays may nest, the outermost counting as 1. Deeper JSON is refused: whoever walks the parsed value
 * recursively (a logger, a validator, `JSON.stringify`) would exhaust the stack.
 */
export const maxDepth = 128;

/** With no more opening brackets than these no nesting can burden the parser, and to look at its value is quicker than to count bytes. */
const harmlessBrackets = 10_000;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** What `parseJson` made of the bytes: a value with its text, or the problem in words that quote none of them. */
export type ParsedJson = { value: unknown; text: string } | { problem: string };

/** Parses UTF-8 JSON without throwing. Of repeated names in one object the last wins, as `JSON.parse` has it. */
export function parseJson(body: Uint8Array): ParsedJson {
  if (startsWithBom(body)) return { problem: 'starts with a byte order mark; send plain UTF-8' };
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    return { problem: 'is not valid UTF-8' };
  }
  const brackets = countOpening(text, harmlessBrackets);
  const mayBeDeep = brackets > maxDepth;
  if (brackets > harmlessBrackets && isDeeperThan(body, maxDepth)) return tooDeep;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text.
    return mayBeDeep && isDeeperThan(body, maxDepth) ? tooDeep : { problem: 'is not valid JSON' };
  }
  return mayBeDeep && isValueDeeperThan(value, maxDepth) ? tooDeep : { value, text };
}

const tooDeep = { problem: `nests deeper than ${maxDepth} levels` };

export function startsWithBom(body: Uint8Array): boolean {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
}

const quote = 0x22;
const backslash = 0x5c;
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d] as const;

/** Counts brackets outside strings. Safe on bytes: in UTF-8 no byte of a longer character equals an ASCII one. */
export function isDeeperThan(body: Uint8Array, limit: number): boolean {
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

/** Goes no deeper than the limit itself. */
function isValueDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (limit === 0) return true;
  const inner: unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const each of inner) if (isValueDeeperThan(each, limit - 1)) return true;
  return false;
}

/** How many opening brackets there are, in strings or not, and at most `most + 1`. Most texts have a handful, found by a native search. */
export function countOpening(text: string, most: number): number {
  let count = 0;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1 && count <= most; at = text.indexOf(bracket, at + 1)) count++;
  }
  return count;
}
