import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { signBody, verifyBody } from '@bestnotify/protocol';
import { phpSender } from './runtimes.mjs';

const secret = 'plain-secret-of-merchant-42';
const data = '{"url":"https://a.b/c","note":"支付 😊","amount":1.0,"orderId":9007199254740993}';

/** The PHP sender of the profile body-hmac: what it signs is what arrives, and it believes only the word. */
export async function checkBodyHmacSender(row, php) {
  const requests = [];
  let reply = { status: 200, body: 'success' };
  const server = createServer(async (request, response) => {
    requests.push({ headers: request.headers, body: Buffer.concat(await request.toArray()) });
    response.writeHead(reply.status, { location: '/elsewhere' }).end(reply.body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}/notify`;
  const send = () => run(php, [phpSender, url, 'payment.success', data]);
  try {
    await row.check('it sends, and believes the word', send, 0);
    const [{ headers, body }] = requests;
    await row.check(
      'its signature verifies over the bytes that came',
      () => verifyBody({ headers, body, secrets: [secret] }).keyIndex,
      0,
    );
    await row.check('ours is the same', () => signBody(body, secret), headers['x-signature']);
    await row.check(
      'a byte more and it does not verify',
      () => verifies(headers, Buffer.concat([body, Buffer.from('\n')])),
      false,
    );
    await row.check('the type is in header and body', () => [headers['x-event-type'], JSON.parse(body).type], [
      'payment.success',
      'payment.success',
    ]);
    await row.check('the id is in the body', () => JSON.parse(body).notification_id, 'ntf_interop');
    await row.check(
      'no digit was lost',
      () => body.includes('"orderId":9007199254740993') && body.includes('"amount":1.0'),
    );
    for (const [status, text, exitCode] of [
      [200, ' SUCCESS\n', 0],
      [200, '"success"', 1],
      [200, '', 1],
      [500, 'success', 1],
      [302, 'success', 1],
    ]) {
      reply = { status, body: text };
      await row.check(`answered ${status} ${JSON.stringify(text)}`, send, exitCode);
    }
    await row.check('no redirect was followed', () => requests.length, 6);
    await row.check('every repetition has the same bytes', () =>
      requests.every((request) => request.body.equals(body)),
    );
  } finally {
    server.close();
  }
}

function verifies(headers, body) {
  try {
    verifyBody({ headers, body, secrets: [secret] });
    return true;
  } catch {
    return false;
  }
}

async function run(command, args) {
  const env = { ...process.env, NOTIFY_BODY_SECRET: secret, NOTIFY_ID: 'ntf_interop' };
  const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const [exitCode] = await once(child, 'close');
  return exitCode;
}
