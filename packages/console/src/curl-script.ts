import type { Endpoint, NotificationDetails } from '@bestnotify/sender';
import { describeUrl } from './describe-url.js';

/** How much of a body is put into the script itself. */
const maxInlineBytes = 4 * 1024;

/**
 * A shell script that sends a notification by hand, as an attempt would: same id, same bytes, a signature made when it
 * runs. The secret is a variable that whoever runs it fills in; it is not in here, nor is the URL's query.
 */
export function curlScript(notification: NotificationDetails, endpoint: Endpoint | undefined): string | null {
  const { body } = notification;
  const url = notification.url ?? endpoint?.url;
  if (body === null || url === undefined || url === null) return null;
  const shown = describeUrl(url);
  const inline = inlineText(body);
  const fileName = `${notification.id}.body`;
  return [
    '# Fill in the secret of the endpoint; it is not shown anywhere.',
    `export WEBHOOK_SECRET='<the endpoint secret${endpoint?.profile === 'body-hmac' ? '' : ', whsec_...'}>'`,
    ...(shown === url ? [] : ['# The URL has a query, which is left out here.']),
    `url=${quote(shown)}`,
    ...(inline === undefined
      ? [`# Download the body and save it as ${fileName} first.`, `body=${quote(fileName)}`]
      : ['body=$(mktemp)', `printf %s ${quote(inline)} > "$body"`]),
    ...(endpoint?.profile === 'body-hmac' ? bodyHmac(notification) : standard(notification)),
    '',
  ].join('\n');
}

function standard({ id, type, contentType }: NotificationDetails): string[] {
  return [
    `id=${quote(id)}`,
    'timestamp=$(date +%s)',
    `key=$(printf %s "$WEBHOOK_SECRET" | sed 's/^whsec_//' | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')`,
    'signature=$( { printf %s "$id.$timestamp."; cat "$body"; } | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)',
    ...curl([
      `content-type: ${contentType}`,
      'webhook-id: $id',
      'webhook-timestamp: $timestamp',
      'webhook-signature: v1,$signature',
      `x-event-type: ${type}`,
    ]),
  ];
}

function bodyHmac({ type, contentType }: NotificationDetails): string[] {
  return [
    `key=$(printf %s "$WEBHOOK_SECRET" | od -An -v -tx1 | tr -d ' \\n')`,
    `signature=$(openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary < "$body" | od -An -v -tx1 | tr -d ' \\n')`,
    ...curl([`content-type: ${contentType}`, 'x-signature: $signature', `x-event-type: ${type}`]),
  ];
}

function curl(headers: readonly string[]): string[] {
  const lines = headers.map((header) => `  -H ${/: \$|,\$/.test(header) ? `"${header}"` : quote(header)} \\`);
  return ['curl -sS -i -X POST "$url" \\', ...lines, '  --data-binary "@$body"'];
}

/** One word of a POSIX shell, whatever is in it. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The body as text, if a terminal and a shell can be trusted with it. */
function inlineText(body: Buffer): string | undefined {
  if (body.length > maxInlineBytes) return undefined;
  const text = body.toString('utf8');
  const isPlain = Buffer.from(text).equals(body) && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text);
  return isPlain ? text : undefined;
}
