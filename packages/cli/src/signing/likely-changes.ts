/** Bytes as they may have been before something on the way changed them. */
export interface LikelyChange {
  what: string;
  bytes: Buffer;
}

/** What parsers, editors, shells and proxies do to bodies most often, undone. */
export function likelyChanges(body: Buffer): LikelyChange[] {
  const text = body.toString();
  const changes: LikelyChange[] = [
    { what: 'a line end at the end is taken away', bytes: Buffer.from(text.replace(/\r?\n$/, '')) },
    { what: 'a line end is added at the end', bytes: Buffer.from(`${text}\n`) },
    { what: 'CR LF becomes LF', bytes: Buffer.from(text.replaceAll('\r\n', '\n')) },
    { what: 'LF becomes CR LF', bytes: Buffer.from(text.replaceAll(/\r?\n/g, '\r\n')) },
    { what: 'a byte order mark is taken away', bytes: Buffer.from(text.replace(/^\ufeff/, '')) },
    { what: 'UTF-8 that was decoded as Latin-1 is put right', bytes: Buffer.from(text, 'latin1') },
  ];
  const parsed = parse(text);
  if (parsed !== undefined) {
    changes.push(
      {
        what: 'the JSON is printed without spaces: it had been printed anew',
        bytes: Buffer.from(JSON.stringify(parsed)),
      },
      { what: 'the JSON is printed with an indent of 2', bytes: Buffer.from(JSON.stringify(parsed, undefined, 2)) },
      {
        what: 'slashes are escaped as PHP does it: it had been printed anew',
        bytes: Buffer.from(JSON.stringify(parsed).replaceAll('/', '\\/')),
      },
    );
  }
  return changes.filter(({ bytes }) => !bytes.equals(body));
}

/** Where two bodies begin to differ; undefined if they do not. */
export function firstDifference(one: Buffer, other: Buffer): number | undefined {
  if (one.equals(other)) return undefined;
  const shorter = Math.min(one.byteLength, other.byteLength);
  for (let at = 0; at < shorter; at++) if (one[at] !== other[at]) return at;
  return shorter;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
