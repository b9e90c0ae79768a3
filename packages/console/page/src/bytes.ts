/** Bytes that came as base64. */
export function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** Bytes as text; what is no UTF-8 shows as a replacement character. */
export function textOf(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

/** JSON with indentation, or undefined for anything else. Numbers stay as they were written: 1.0 is not 1, and no digit is lost. */
export function prettyJson(text: string): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return indent(text);
}

/** Works on the text itself: parsing and writing again would change numbers and the order of members. */
function indent(text: string): string {
  const pieces = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? [];
  let depth = 0;
  let result = '';
  for (const [index, piece] of pieces.entries()) {
    const line = `\n${'  '.repeat(depth)}`;
    if (piece === '{' || piece === '[') {
      depth += 1;
      const isEmpty = pieces[index + 1] === '}' || pieces[index + 1] === ']';
      result += isEmpty ? piece : `${piece}\n${'  '.repeat(depth)}`;
    } else if (piece === '}' || piece === ']') {
      depth -= 1;
      const wasEmpty = pieces[index - 1] === '{' || pieces[index - 1] === '[';
      result += wasEmpty ? piece : `\n${'  '.repeat(depth)}${piece}`;
    } else if (piece === ',') result += `,${line}`;
    else result += piece === ':' ? ': ' : piece;
  }
  return result;
}

/** Sixteen bytes a line: where they are, what they are, and what they look like. */
export function hexDump(bytes: Uint8Array, limit = 16 * 1024): string {
  const lines: string[] = [];
  for (let start = 0; start < Math.min(bytes.length, limit); start += 16) {
    const part = [...bytes.subarray(start, start + 16)];
    const hex = part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const plain = part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·')).join('');
    lines.push(`${start.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${plain}`);
  }
  if (bytes.length > limit) lines.push('…');
  return lines.join('\n');
}

/** Text as it is, with what cannot be seen made visible: controls, and characters that turn the direction around. */
export function visibleText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character === '\n' || character === '\t'
      ? character
      : `\\u{${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}}`,
  );
}
