import {
  headerNames,
  isAcknowledged,
  maskSecret,
  nearMissHint,
  parseSigningKey,
  signBody,
  signNotification,
  toTimestampSeconds,
  type AckRule,
} from '@bestnotify/protocol';
import { addCommand, connectionOptions, secretOptions } from '../command.js';
import { withSender, type ConnectionOptions } from '../connect.js';
import { InputError, UsageError } from '../errors.js';
import { exitCodes } from '../exit-codes.js';
import { checkNotificationId } from '../input/check-notification-id.js';
import { requireSecrets } from '../input/read-secret.js';
import { bytesShape } from '../shapes.js';
import { printable } from '../output/printable.js';

interface Options extends ConnectionOptions {
  to: string;
  secretStdin?: boolean;
  json?: boolean;
}

const timeoutMs = 10_000;
const maxReplyBytes = 64 * 1024;

export const forward = addCommand<Options>({
  name: 'forward <id>',
  summary: 'Send a copy of a stored notification to a URL of your own, once',
  details:
    'For development. The stored notification does not change: no attempt is recorded, its retries go on. The copy is signed with ' +
    'the secret from BESTNOTIFY_SECRET or stdin, as stored secrets cannot be read back, and the output says with which. ' +
    'Exit codes: 0 acknowledged, 2 not acknowledged, 1 error.',
  examples: [
    [
      'forward ntf_019b7892-1c00-7fff-bfff-ffffffffffff --to http://127.0.0.1:3000/notify',
      'to a receiver on this machine',
    ],
  ],
  options: (command) => {
    connectionOptions(command);
    secretOptions(command);
    command.requiredOption('--to <url>', 'where to POST it');
  },
  action: ({ terminal, now }, options, [id = '']) =>
    withSender(terminal.streams, options, async (sender) => {
      checkNotificationId(id, 'forward');
      const url = parseUrl(options.to);
      const secrets = await requireSecrets(terminal.streams, options);
      const {
        body: stored,
        sentBody: body,
        type,
        endpoint: endpointId,
        contentType,
      } = await sender.operations.show(id);
      if (stored === null) throw new InputError({ from: id, problem: 'is nothing: its body was erased' });
      if (body === null) throw new InputError({ from: id, problem: "is nothing that its endpoint's profile can send" });
      const endpoint = await sender.endpoints.get(endpointId);
      const signed =
        endpoint?.profile === 'body-hmac'
          ? { [headerNames.bodySignature]: signBody(body, secrets[0]) }
          : signedHeaders({ id, body, secrets, timestampSeconds: toTimestampSeconds(now()) });
      const headers = { 'content-type': contentType, [headerNames.eventType]: type, ...signed };
      const signal = AbortSignal.timeout(timeoutMs);
      const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
      const reply = {
        status: response.status,
        body: Buffer.from(await response.arrayBuffer()).subarray(0, maxReplyBytes),
      };
      const rule = ruleOf(endpoint?.ack);
      const acknowledged = isAcknowledged(rule, reply);
      const signedWith = secrets.map(maskSecret);
      const facts = {
        id,
        to: url.href,
        signedWith,
        status: reply.status,
        acknowledged,
        reply: bytesShape(reply.body),
        hint: nearMissHint(rule, reply) ?? null,
      };
      if (options.json === true) await terminal.json(facts);
      else {
        await terminal.print(
          `Signed with ${signedWith.join(', ')} (from ${options.secretStdin === true ? 'stdin' : 'BESTNOTIFY_SECRET'}, not read from the endpoint).`,
        );
        await terminal.print(`${reply.status} ${printable(reply.body.toString().slice(0, 500))}`);
        await terminal.print(
          `${acknowledged ? 'Acknowledged' : `Not acknowledged${facts.hint === null ? '' : `: ${facts.hint}`}`}. The stored notification is as it was.`,
        );
      }
      return acknowledged ? exitCodes.fine : exitCodes.refused;
    }),
});

function signedHeaders(request: { id: string; body: Buffer; secrets: readonly string[]; timestampSeconds: number }) {
  const { id, timestampSeconds, body, secrets } = request;
  const keys = secrets.map((secret) => parseSigningKey(secret));
  return {
    [headerNames.id]: id,
    [headerNames.timestamp]: String(timestampSeconds),
    [headerNames.signature]: signNotification({ id, timestampSeconds, body, keys }),
  };
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && ['http:', 'https:'].includes(url.protocol)) return url;
  throw new UsageError({ option: '--to', problem: 'must be an http or https URL' });
}

/** A rule that is a function of the platform's cannot be asked here. */
function ruleOf(ack: string | undefined): AckRule {
  return ack === 'status' || ack === 'json-code' ? ack : 'success';
}
