/** Every header of the protocol, in lower case. */
export const headerNames = {
  id: 'webhook-id',
  timestamp: 'webhook-timestamp',
  signature: 'webhook-signature',
  eventType: 'x-event-type',
  attempt: 'bestnotify-attempt',
  reason: 'bestnotify-reason',
  bodySignature: 'x-signature',
} as const;

/** Headers as Node's `http` gives them, or as `fetch` does. */
export type HeaderBag =
  Readonly<Record<string, string | readonly string[] | undefined>> | { get(name: string): string | null };

/**
 * Reads one header, whatever the case of its name.
 *
 * A header that came more than once is returned joined by `, `, as Node and `fetch` do it; no grammar of this protocol
 * accepts a comma followed by a space, so a repeated header never verifies.
 *
 * @param name - in lower case.
 */
export function readHeader(headers: HeaderBag, name: string): string | undefined {
  if (isFetchHeaders(headers)) return headers.get(name) ?? undefined;
  let found: string | undefined;
  for (const key in headers) {
    if (key.length !== name.length || (key !== name && key.toLowerCase() !== name)) continue;
    const value = headers[key];
    if (value === undefined) continue;
    const text = typeof value === 'string' ? value : value.join(', ');
    found = found === undefined ? text : `${found}, ${text}`;
  }
  return found;
}

function isFetchHeaders(headers: HeaderBag): headers is { get(name: string): string | null } {
  return typeof headers['get' as keyof HeaderBag] === 'function';
}
