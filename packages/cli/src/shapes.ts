import type { AttemptSummary, NotificationDetails } from '@bestnotify/sender';

/** Bytes as JSON: text where they are UTF-8, else base64. */
export type BytesShape = { text: string } | { base64: string };

export function bytesShape(bytes: Uint8Array): BytesShape {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') };
  }
}

/** One notification with its attempts, as `show --json` prints it: the body is what is sent. */
export function detailsShape({ body, sentBody, attemptLog, ...rest }: NotificationDetails) {
  const sent = sentBody ?? body;
  return { ...rest, body: sent === null ? null : bytesShape(sent), attemptLog: attemptLog.map(attemptShape) };
}

function attemptShape({ snippet, ...rest }: AttemptSummary) {
  return { ...rest, snippet: snippet === null ? null : bytesShape(snippet) };
}
