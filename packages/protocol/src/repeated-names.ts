const tokenPattern = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/g;

/**
 * Whether an object anywhere in this JSON text has two members of one name, escapes resolved and ASCII case ignored: parsers
 * differ in which of them they take, and some match names in any case.
 *
 * @param text - valid JSON.
 */
export function hasRepeatedNames(text: string): boolean {
  const open: Set<string>[] = [];
  for (const [token, colon] of text.matchAll(tokenPattern)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (colon !== undefined) {
      const names = open.at(-1);
      const name = (JSON.parse(token.slice(0, -colon.length)) as string).toLowerCase();
      if (names?.has(name)) return true;
      names?.add(name);
    }
  }
  return false;
}
