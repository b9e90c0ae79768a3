import { InputError } from '../errors.js';

const maxHeaders = 500;

/**
 * Headers as people capture them: lines of `Name: value`, with or without a request line, `curl -v`'s `> ` in front or not, or JSON.
 *
 * Names come back in lower case; a repeated one is joined by `, ` as Node does it.
 */
export function parseHeaders(text: string, from: string): Record<string, string> {
  const headers: Record<string, string> = Object.create(null) as Record<string, string>;
  const pairs = text.trimStart().startsWith('{') ? pairsOfJson(text, from) : pairsOfLines(text);
  for (const [name, value] of pairs.slice(0, maxHeaders)) {
    const key = name.toLowerCase();
    const before = headers[key];
    headers[key] = before === undefined ? value : `${before}, ${value}`;
  }
  if (Object.keys(headers).length === 0) throw new InputError({ from, problem: 'holds no header' });
  return headers;
}

function pairsOfLines(text: string): [string, string][] {
  return text.split(/\r?\n/).flatMap((line) => {
    const [, name, value] = /^(?:[<>] )?([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value] as [string, string]];
  });
}

function pairsOfJson(text: string, from: string): [string, string][] {
  try {
    return Object.entries(JSON.parse(text) as Record<string, unknown>).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : String(value),
    ]);
  } catch (cause) {
    throw new InputError({ from, problem: `is no JSON: ${(cause as Error).message}`, cause });
  }
}
