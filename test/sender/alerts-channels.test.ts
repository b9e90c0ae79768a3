import { createHmac } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { scriptedEndpoint, type RecordedRequest } from '@bestnotify/sender/testing';
import type { Alert, AlertChannel, AlertText } from '@bestnotify/sender';
import { SMTPServer } from 'smtp-server';
import { describe, expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { alertsTo, once, scene } from './alerts-fixtures.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

const [postgresql] = databases;
const token = 'T0KEN-which-nobody-may-see-4711';
const local = { allowHttp: true, allowPrivateNetwork: true } as const;

/** One dead notification, told to one channel. */
async function tell(
  channels: Record<string, AlertChannel>,
  more: Parameters<typeof alertsTo>[1] = {},
): Promise<Outbox> {
  await using merchant = await scriptedEndpoint(404);
  const outbox = await freshOutbox(postgresql!.open, alertsTo(channels, more));
  await outbox.putEndpoint({ id: 'merchant-42', url: merchant.url });
  await outbox.sender.notify({ endpoint: 'merchant-42', ...paid, ...once });
  await outbox.sender.runOnce();
  await outbox.sender.runOnce();
  return outbox;
}

async function alertRows(outbox: Outbox) {
  return outbox.query<{
    state: number;
    attempts: number;
    because: string | null;
    error: string | null;
    snippet: string | null;
    url: string;
  }>(
    `select o.state::int, o.attempts, a.because, a.error, convert_from(a.snippet, 'UTF8') as snippet, a.url
       from notification n join outbox o using (number) left join attempt a on a.notification_number = n.number
      where n.type = 'bestnotify.alert' order by a.number`,
  );
}

function bodyOf({ body }: RecordedRequest): Record<string, unknown> {
  return JSON.parse(body.toString('utf8')) as Record<string, unknown>;
}

const title = '[acme-pay] 1 notification given up';

describe('chat robots', () => {
  const robots = [
    {
      kind: 'slack',
      good: 'ok',
      bad: 'invalid_token',
      textOf: (body: Record<string, unknown>) => body['text'],
    },
    {
      kind: 'dingtalk',
      good: '{"errcode":0,"errmsg":"ok"}',
      bad: '{"errcode":310000,"errmsg":"sign not match"}',
      textOf: (body: Record<string, unknown>) => (body['text'] as { content: string }).content,
    },
    {
      kind: 'wecom',
      good: '{"errcode":0,"errmsg":"ok"}',
      bad: '{"errcode":93000,"errmsg":"invalid webhook url"}',
      textOf: (body: Record<string, unknown>) => (body['text'] as { content: string }).content,
    },
    {
      kind: 'feishu',
      good: '{"code":0,"msg":"success"}',
      bad: '{"code":19021,"msg":"sign match fail"}',
      textOf: (body: Record<string, unknown>) => {
        const { title: head, content } = (
          body['content'] as { post: { zh_cn: { title: string; content: { text: string }[][] } } }
        ).post.zh_cn;
        return [head, ...content.flat().map(({ text }) => text)].join('\n');
      },
    },
  ] as const;

  test.each(robots)(
    '$kind gets its own JSON, and only its own word acknowledges it',
    async ({ kind, good, bad, textOf }) => {
      await using robot = await scriptedEndpoint({ body: bad }, { body: 'success' }, { body: good });
      await using outbox = await tell({ chat: { kind, url: `${robot.url}/${token}`, ...local } });
      for (let attempt = 0; attempt < 2; attempt += 1) {
        await outbox.age({ byMs: 60_000 });
        await outbox.sender.runOnce();
      }

      expect(robot.requests).toHaveLength(3);
      expect(robot.requests[0]!.path).toBe(`/notify/${token}`);
      expect(robot.requests[0]!.headers).not.toHaveProperty('webhook-signature');
      const text = textOf(bodyOf(robot.requests[0]!));
      expect(text).toContain(title);
      expect(text).toContain('merchant-42: 1, attempts-used-up (status-404); first payment.success PAY1 (ntf_');
      expect(await alertRows(outbox)).toMatchObject([
        { state: 1, attempts: 3, because: 'wrong-reply', snippet: bad },
        { because: 'wrong-reply' },
        { because: 'acknowledged' },
      ]);
    },
  );

  test('an older Feishu says StatusCode', async () => {
    await using robot = await scriptedEndpoint({ body: '{"StatusCode":0,"StatusMessage":"success"}' });
    await using outbox = await tell({ chat: { kind: 'feishu', url: robot.url, ...local } });
    expect(await alertRows(outbox)).toMatchObject([{ state: 1 }]);
  });

  test('DingTalk and Feishu check a signature, each of its own kind, made anew for each attempt', async () => {
    await using dingtalk = await scriptedEndpoint({ body: '{"errcode":0}' });
    await using feishu = await scriptedEndpoint({ body: '{"code":0}' });
    const secret = 'SEC0123456789abcdef0123456789abcdef';
    await using outbox = await tell({
      a: { kind: 'dingtalk', url: `${dingtalk.url}?access_token=${token}`, secret, ...local },
      b: { kind: 'feishu', url: feishu.url, secret, ...local },
    });
    expect(await alertRows(outbox)).toMatchObject([{ state: 1 }, { state: 1 }]);

    const { searchParams } = new URL(dingtalk.requests[0]!.path, 'http://x');
    const timestamp = searchParams.get('timestamp')!;
    expect(searchParams.get('access_token')).toBe(token);
    expect(Math.abs(Number(timestamp) - Date.now())).toBeLessThan(60_000);
    expect(searchParams.get('sign')).toBe(
      createHmac('sha256', secret).update(`${timestamp}\n${secret}`).digest('base64'),
    );

    const body = bodyOf(feishu.requests[0]!) as { timestamp: string; sign: string };
    expect(Math.abs(Number(body.timestamp) * 1000 - Date.now())).toBeLessThan(60_000);
    expect(body.sign).toBe(createHmac('sha256', `${body.timestamp}\n${secret}`).update('').digest('base64'));
  });

  test('an alert speaks Chinese where its channel does', async () => {
    await using zh = await scriptedEndpoint({ body: '{"errcode":0}' });
    await using en = await scriptedEndpoint({ body: '{"errcode":0}' });
    await using outbox = await tell(
      { zh: { kind: 'wecom', url: zh.url, ...local }, en: { kind: 'wecom', url: en.url, locale: 'en', ...local } },
      { locale: 'zh-CN' },
    );
    expect(outbox.schema).not.toBe('');
    expect(zh.requests[0]!.body.toString()).toContain('[acme-pay] 1 条通知已放弃');
    expect(en.requests[0]!.body.toString()).toContain(title);
  });

  test('names made to mention everybody, to link, or to turn the text around do none of it', async () => {
    const reply = { slack: 'ok', wecom: '{"errcode":0}', feishu: '{"code":0}' };
    await using slack = await scriptedEndpoint({ body: reply.slack });
    await using feishu = await scriptedEndpoint({ body: reply.feishu });
    await using merchant = await scriptedEndpoint(404);
    await using outbox = await freshOutbox(
      postgresql!.open,
      alertsTo({
        slack: { kind: 'slack', url: slack.url, ...local },
        feishu: { kind: 'feishu', url: feishu.url, ...local },
      }),
    );
    const id = '<!channel>&<at/user_id="all">*_`';
    await outbox.putEndpoint({ id, url: merchant.url });
    await outbox.sender.notify({ endpoint: id, ...paid, ...once });
    await outbox.sender.runOnce();
    await outbox.sender.operations.stats();
    await outbox.sender.runOnce();

    const { text, mrkdwn } = bodyOf(slack.requests[0]!) as { text: string; mrkdwn: boolean };
    expect(mrkdwn).toBe(false);
    expect(text).toContain('&lt;!channel&gt;&amp;&lt;at/user_id="all"&gt;');
    const tags = JSON.stringify(bodyOf(feishu.requests[0]!)).match(/"tag":"(\w+)"/g);
    expect(new Set(tags)).toEqual(new Set(['"tag":"text"']));
  });
});

describe('what is secret about a channel', () => {
  test('is in no row, no event and no answer, even when the robot prints the request back', async () => {
    const secret = 'SECret-of-a-robot-0123456789';
    await using robot = await scriptedEndpoint(
      (request, response) =>
        void response
          .writeHead(400)
          .end(`you called ${request.path} <a href="http:\\/\\/x${request.path.replaceAll('/', '\\/')}">`),
      (request, response) => void response.writeHead(302, { location: `http://elsewhere${request.path}` }).end(),
      { body: '{"errcode":0}' },
    );
    const merchantSecret = 'contact-token-0123456789';
    const told: unknown[] = [];
    await using outbox = await freshOutbox(
      postgresql!.open,
      alertsTo({ ding: { kind: 'dingtalk', url: `${robot.url}/${token}?access_token=${token}`, secret, ...local } }),
    );
    for (const event of ['attempt', 'dead', 'delivered', 'refused', 'error'] as const) {
      outbox.sender.on(event, (facts) => told.push(facts));
    }
    await using merchant = await scriptedEndpoint(404);
    await outbox.putEndpoint({ id: 'merchant-42', url: merchant.url });
    await outbox.sender.endpoints.put({
      ...{ id: 'merchant-42', url: merchant.url, ...local },
      contact: { kind: 'slack', url: `https://hooks.example/${merchantSecret}` },
    });
    await outbox.sender.notify({ endpoint: 'merchant-42', ...paid, ...once });
    await outbox.sender.runOnce();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await outbox.age({ byMs: 120_000 });
      await outbox.sender.runOnce();
    }

    const tables = await outbox.query<{ name: string }>(
      `select table_name as name from information_schema.tables where table_schema = '${outbox.schema}'`,
    );
    const dump = [JSON.stringify(told)];
    for (const { name } of tables) {
      for (const row of await outbox.query<{ text: string }>(`select t::text as text from ${name} t`))
        dump.push(row.text);
      for (const row of await outbox.query<{ text: string }>(
        name === 'attempt'
          ? `select convert_from(snippet, 'UTF8') as text from attempt where snippet is not null`
          : `select '' as text`,
      )) {
        dump.push(row.text);
      }
    }
    expect(robot.requests.length).toBeGreaterThan(2);
    expect(dump.join('\n')).toContain('[removed]');
    for (const hidden of [token, secret, merchantSecret]) expect(dump.join('\n')).not.toContain(hidden);
  });

  test('a channel goes through the same guard as an endpoint: no private address without both permissions', async () => {
    await using robot = await scriptedEndpoint({ body: 'ok' });
    await using outbox = await tell({
      a: { kind: 'slack', url: robot.url.replace('127.0.0.1', 'localtest.invalid'), allowHttp: true },
    });
    expect(await alertRows(outbox)).toMatchObject([{ because: 'dns', state: 0 }]);
    await expect(tell({ a: { kind: 'slack', url: robot.url, allowHttp: true } })).rejects.toMatchObject({
      code: 'SENDER_CONFIGURATION',
      option: 'alerts.channels.a.url',
    });
    expect(robot.requests).toHaveLength(0);
  });
});

describe('functions', () => {
  test('a function is called with the alert, its text and an id that stays the same when it throws', async () => {
    const calls: { alert: Alert; id: string; text: AlertText }[] = [];
    const send = (alert: Alert, { id, text }: { id: string; text: AlertText }) => {
      calls.push({ alert, id, text });
      if (calls.length === 1) throw new Error('the SMS gateway is busy');
    };
    await using outbox = await tell({ sms: { kind: 'function', send } });
    await outbox.age({ byMs: 60_000 });
    await outbox.sender.runOnce();

    expect(calls).toHaveLength(2);
    expect(calls[0]).toMatchObject({ alert: { kind: 'dead', count: 1 }, text: { title } });
    expect(calls[1]!.id).toBe(calls[0]!.id);
    expect(await alertRows(outbox)).toMatchObject([
      { state: 1, attempts: 2, because: 'no-answer', error: 'the SMS gateway is busy', url: 'function://' },
      { because: 'acknowledged' },
    ]);
  });

  test('one that never ends is given up at the deadline and told to stop', async () => {
    let isStopped = false;
    await using merchant = await scriptedEndpoint(404);
    const send = (_: Alert, { signal }: { signal: AbortSignal }) =>
      new Promise(() => signal.addEventListener('abort', () => (isStopped = true)));
    await using outbox = await freshOutbox(postgresql!.open, alertsTo({ sms: { kind: 'function', send } }));
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await outbox.sender.notify({ endpoint: 'm', ...paid, ...once });
    await outbox.sender.runOnce();
    await outbox.sender.runOnce({ requestTimeoutMs: 100 });
    expect(await alertRows(outbox)).toMatchObject([
      { state: 0, because: 'no-answer', error: 'not done within 100 ms' },
    ]);
    expect(isStopped).toBe(true);
  });

  test('a worker that has not been given the function leaves the alert to one that has, uncharged', async () => {
    const calls: string[] = [];
    await using merchant = await scriptedEndpoint(404);
    await using outbox = await freshOutbox(
      postgresql!.open,
      alertsTo({ sms: { kind: 'function', send: (_, { id }) => calls.push(id) } }),
    );
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await outbox.sender.notify({ endpoint: 'm', ...paid, ...once });
    await outbox.sender.runOnce();
    await outbox.another({ alerts: {} }).runOnce();
    expect(await alertRows(outbox)).toMatchObject([{ state: 0, attempts: 0, because: 'internal' }]);
    await outbox.age({ byMs: 60_000 });
    await outbox.sender.runOnce();
    expect(calls).toHaveLength(1);
  });
});

describe('e-mail', () => {
  interface Received {
    from: string;
    to: string[];
    message: string;
  }

  async function mailServer(refusals = 0) {
    const mails: Received[] = [];
    let left = refusals;
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onAuth: ({ username = '', password }, _, done) =>
        password === 'p4ssw0rd' ? done(null, { user: username }) : done(new Error(`Invalid login with ${password}`)),
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          if (left-- > 0) {
            done(Object.assign(new Error('try later'), { responseCode: 451 }));
            return;
          }
          const { mailFrom, rcptTo } = session.envelope;
          const message = Buffer.concat(chunks).toString('utf8');
          mails.push({
            from: mailFrom === false ? '' : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            message,
          });
          done();
        });
      },
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.server.address() as AddressInfo;
    return {
      mails,
      smtp: `smtp://ops:p4ssw0rd@127.0.0.1:${port}`,
      port,
      [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
    };
  }

  /** Quoted-printable and MIME words undone, as far as these mails use them. */
  function readable(message: string): string {
    return message
      .replace(/=\r\n/g, '')
      .replace(/=\?UTF-8\?Q\?(.*?)\?=/gi, (_, text: string) => text.replaceAll('_', ' '))
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  }

  test('a mail goes to everybody listed, in text and HTML, and is tried again with the same Message-ID', async () => {
    await using server = await mailServer(1);
    const email = { smtp: server.smtp, from: 'alerts@acme.example' };
    await using outbox = await tell(
      { mail: { kind: 'email', to: ['ops@acme.example', 'boss@acme.example'] } },
      { email },
    );
    expect(await alertRows(outbox)).toMatchObject([
      { state: 0, because: 'no-answer', error: expect.stringContaining('451') as string },
    ]);
    await outbox.age({ byMs: 60_000 });
    await outbox.sender.runOnce();

    const [mail] = server.mails;
    expect(mail).toMatchObject({ from: 'alerts@acme.example', to: ['ops@acme.example', 'boss@acme.example'] });
    const message = readable(mail!.message);
    expect(message).toContain(`Subject: ${title}`);
    expect(message).toMatch(/Message-ID: <ntf_[-0-9a-f]+@bestnotify>/i);
    expect(message).toContain('text/html');
    expect(message).toContain('merchant-42: 1, attempts-used-up (status-404)');
  });

  test('a wrong password is an attempt that says so, without the password', async () => {
    await using server = await mailServer();
    const email = { smtp: `smtp://ops:wrong-one@127.0.0.1:${server.port}`, from: 'alerts@acme.example' };
    await using outbox = await tell({ mail: { kind: 'email', to: 'ops@acme.example' } }, { email });
    const [row] = await alertRows(outbox);
    expect(row).toMatchObject({ state: 0, because: 'no-answer' });
    expect(row!.error).toContain('[removed]');
    expect(row!.error).not.toContain('wrong-one');
  });

  test('a merchant’s contact can be an address', async () => {
    await using server = await mailServer();
    await using it = await scene(postgresql!.open, { email: { smtp: server.smtp, from: 'alerts@acme.example' } });
    await it.outbox.sender.endpoints.put({
      id: 'merchant-42',
      url: it.merchant.url,
      ...local,
      contact: { kind: 'email', to: 'dev@shop.example' },
    });
    it.merchant.script(500);
    await it.kill(10);
    await it.outbox.sender.runOnce({ maxInFlightPerEndpoint: 10 });
    await it.outbox.sender.runOnce();
    expect(server.mails.map(({ to }) => to)).toEqual([['dev@shop.example'], ['dev@shop.example']]);
    expect(server.mails.map(({ message }) => /Subject: (.*)\r/.exec(readable(message))?.[1]).sort()).toEqual([
      '[acme-pay] 1 endpoint parked: too many failures in a row',
      '[acme-pay] 10 notifications given up',
    ]);
  });

  test('hostile names are harmless in the HTML and in the headers', async () => {
    await using server = await mailServer();
    await using merchant = await scriptedEndpoint(404);
    const email = { smtp: server.smtp, from: 'alerts@acme.example' };
    await using outbox = await freshOutbox(
      postgresql!.open,
      alertsTo({ mail: { kind: 'email', to: 'ops@acme.example' } }, { email }),
    );
    const id = '<script>alert(1)</script>';
    await outbox.putEndpoint({ id, url: merchant.url });
    await outbox.sender.notify({ endpoint: id, ...paid, ...once });
    await outbox.sender.runOnce();
    await outbox.query(`update outbox set reason = e'x\\r\\nBcc: all@acme.example \\u202e' where state = 2`);
    await outbox.query(`update outbox set told_round = 0`);
    await outbox.query(`delete from outbox where state = 0`);
    await outbox.query(`update alert_digest set opens_at = now()`);
    await outbox.sender.runOnce();
    await outbox.sender.runOnce();

    const message = readable(server.mails[0]!.message);
    expect(message).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(message.split('text/html')[1]).not.toContain('<script>');
    expect(message).not.toMatch(/^Bcc:/m);
    expect(message).toContain('\\u000d\\u000aBcc: all@acme.example \\u202e');
  });
});
