import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { decodeEnvelope, generateSecret, parseVerifyingKey, verifyNotification } from '@bestnotify/protocol';
import { createSender } from '@bestnotify/sender';
import postgres from 'postgres';
import { startServices } from '../scripts/services.mjs';
import { phpPlatform } from './runtimes.mjs';
import { source } from './signed-request.mjs';

const to = 'merchant-42';
const event = { source, to, type: 'payment.success', bizId: 'PAY1', subject: 'ORDER1' };
const data = { amount: '100.00', currency: 'CNY', note: '支付成功 https://acme.example/' };

/** The PHP platform enqueues by SQL in its own transaction; our worker sends what was committed, and only that. */
export async function checkPhpPlatform(row, { php, progress }) {
  const services = await startServices({ only: ['postgres'], onProgress: progress });
  const schema = `interop_${randomBytes(4).toString('hex')}`;
  const sql = postgres(services.databaseUrl, {
    max: 1,
    onnotice: () => undefined,
    connection: { search_path: schema },
  });
  const merchant = await openMerchant();
  const sender = openSender(services.databaseUrl, schema);
  try {
    await sender.migrate();
    await sender.endpoints.put({ id: to, url: merchant.url, secrets: [merchant.secret] });
    await sql`create table shop_order (id text primary key, merchant text, payment_id text, amount numeric(12,2), paid_at timestamptz)`;
    await sql`insert into shop_order values ('ORDER1', ${to}, 'PAY1', 100), ('ORDER2', ${to}, 'PAY2', 7), ('ORDER3', 'nobody', 'PAY3', 7), ('ORDER4', ${to}, 'PAY1', 8), ('ORDER5', ${to}, 'a b', 7)`;
    const pay = (orderId, env = {}) =>
      run(php, orderId, { ...env, NOTIFY_SCHEMA: schema, DATABASE_DSN: dsnOf(services.databaseUrl, schema) });
    await checkEnqueue(row, { pay, sql });
    await row.check(
      'what was committed is sent, and nothing else',
      () => sender.runOnce().then((pass) => pass.delivered),
      1,
    );
    await row.check('it verifies, with the bytes that notify would send', () => merchant.received, [
      { ...event, data },
    ]);
    const { type, bizId, subject } = event;
    const again = () => sender.notify({ endpoint: to, type, bizId, subject, data }).then(({ created }) => created);
    await row.check('notify knows the event already', again, false);
  } finally {
    await sender.close();
    await sql.unsafe(`drop schema if exists ${schema} cascade`);
    await sql.end();
    merchant.close();
    await services.stop();
  }
}

async function checkEnqueue(row, { pay, sql }) {
  const paid = async () =>
    (await sql`select id from shop_order where paid_at is not null order by id`).map(({ id }) => id);
  await row.check('a paid order is enqueued', async () => /^ntf_[0-9a-f-]{36}$/.test(await pay('ORDER1')));
  await row.check('paid twice', () => pay('ORDER1'), 'order ORDER1 does not exist or is paid already');
  await row.check('rolled back', () => pay('ORDER2', { FAIL_BEFORE_COMMIT: '1' }), 'the shop changed its mind');
  await row.check('an unknown merchant', () => pay('ORDER3'), 'refused (BN002)');
  await row.check('the same payment with another amount', () => pay('ORDER4'), 'refused (BN003)');
  await row.check('a payment number outside the grammar', () => pay('ORDER5'), 'refused (BN001)');
  await row.check('a refused notification takes the order with it', paid, ['ORDER1']);
}

function openSender(database, schema) {
  const loopback = ['127.0.0.0/8'];
  return createSender({
    source,
    database,
    schema,
    allowPrivateNetwork: loopback,
    secretStorage: { keys: [{ id: 'interop', key: randomBytes(32).toString('base64') }] },
    endpointDefaults: { allowHttp: true, allowPrivateNetwork: loopback },
  });
}

async function openMerchant() {
  const secret = generateSecret();
  const received = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    verifyNotification({ headers: request.headers, body, keys: [parseVerifyingKey(secret)] });
    received.push(decodeEnvelope(body));
    response.end('success');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { secret, received, url: `http://127.0.0.1:${server.address().port}/notify`, close: () => server.close() };
}

function dsnOf(databaseUrl, schema) {
  const { hostname, port, pathname, username, password } = new URL(databaseUrl);
  const parts = {
    host: hostname,
    port: port || '5432',
    dbname: pathname.slice(1),
    user: username,
    password: decodeURIComponent(password),
  };
  const given = Object.entries(parts).filter(([, value]) => value !== '');
  return `pgsql:${given.map(([name, value]) => `${name}=${value}`).join(';')};options='-c search_path=${schema}'`;
}

/** @returns the line it printed. */
async function run(php, orderId, env) {
  const child = spawn(php, [phpPlatform, orderId], {
    env: { ...process.env, NOTIFY_SOURCE: source, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [chunks] = await Promise.all([child.stdout.toArray(), once(child, 'close')]);
  return Buffer.concat(chunks).toString().trim();
}
