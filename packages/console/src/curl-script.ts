import type { Endpoint, NotificationDetails } from '@bestnotify/sender';
import { describeUrl } from './describe-url.js';

/** How much of a body is put into the script itself. */
const maxInlineBytes = 4 * 1024;

/**
 * A shell script that sends a notification by hand, as an attempt would: same id, same bytes, same headers but the user
 * agent, a signature made when it runs. The secret is a variable that whoever runs it fills in; it is not in here, nor is
 * the URL's query, nor what the endpoint adds of its own.
 */
export function curlScript(notification: NotificationDetails, endpoint: Endpoint | undefined): string | null {
  const { sentBody } = notification;
  const url = notification.url ?? endpoint?.url;
  if (sentBody === null || url === undefined || url === null) return null;
  const shown = describeUrl(url);
  const inline = inlineText(sentBody);
  const fileName = `${notification.id}.body`;
  const isBodyHmac = endpoint?.profile === 'body-hmac';
  return [
    '# Fill in the secret of the endpoint; it is not shown anywhere.',
    `export WEBHOOK_SECRET='<the endpoint secret${isBodyHmac ? '' : ', whsec_... or whsk_...'}>'`,
    ...(shown === url ? [] : ['# The URL has a query, which is left out here.']),
    ...(notification.hasOwnHeaders
      ? ['# The endpoint has headers, credentials or a certificate of its own: add them to curl at the end.']
      : []),
    `url=${quote(shown)}`,
    ...(inline === undefined
      ? [`# Download the body and save it as ${fileName} first.`, `body=${quote(fileName)}`]
      : ['body=$(mktemp)', `printf %s ${quote(inline)} > "$body"`]),
    ...(isBodyHmac ? bodyHmac(notification) : standard(notification)),
    '',
  ].join('\n');
}

/** The beginning of a private Ed25519 key in DER (RFC 8410), before its 32 bytes, as printf writes it. */
const ed25519Header = String.raw`\060\056\002\001\000\060\005\006\003\053\145\160\004\042\004\040`;

function standard({ id, type, contentType, state, attempts }: NotificationDetails): string[] {
  return [
    `id=${quote(id)}`,
    'timestamp=$(date +%s)',
    'case $WEBHOOK_SECRET in',
    'whsk_*)',
    '  key=$(mktemp) signed=$(mktemp)',
    '  { printf %s "$id.$timestamp."; cat "$body"; } > "$signed"',
    `  { printf '${ed25519Header}'; printf %s "$WEBHOOK_SECRET" | sed 's/^whsk_//' | openssl base64 -d -A | head -c 32; } > "$key"`,
    '  signature=v1a,$(openssl pkeyutl -sign -rawin -keyform DER -inkey "$key" -in "$signed" | openssl base64 -A)',
    '  rm "$key" "$signed" ;;',
    '*)',
    `  key=$(printf %s "$WEBHOOK_SECRET" | sed 's/^whsec_//' | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')`,
    '  signature=v1,$({ printf %s "$id.$timestamp."; cat "$body"; } | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A) ;;',
    'esac',
    ...curl([
      `content-type: ${contentType}`,
      'accept-encoding: identity',
      'webhook-id: $id',
      'webhook-timestamp: $timestamp',
      'webhook-signature: $signature',
      `x-event-type: ${type}`,
      `bestnotify-attempt: ${state === 'pending' ? attempts + 1 : 1}`,
    ]),
  ];
}

function bodyHmac({ type, contentType }: NotificationDetails): string[] {
  return [
    `key=$(printf %s "$WEBHOOK_SECRET" | od -An -v -tx1 | tr -d ' \\n')`,
    `signature=$(openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary < "$body" | od -An -v -tx1 | tr -d ' \\n')`,
    ...curl([
      `content-type: ${contentType}`,
      'accept-encoding: identity',
      'x-signature: $signature',
      `x-event-type: ${type}`,
    ]),
  ];
}

function curl(headers: readonly string[]): string[] {
  const lines = headers.map((header) => `  -H ${/: \$\w+$/.test(header) ? `"${header}"` : quote(header)} \\`);
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
