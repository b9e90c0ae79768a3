import { generateKeyPair, generateSecret } from '@bestnotify/protocol';
import { createReceiver, memoryStore, type Identify, type ReceiverOptions, type Secrets } from '@bestnotify/receiver';
import { signedRequest } from '@bestnotify/receiver/testing';
import { describe, expect, test } from 'vitest';
import { genuine, line, receiverFor, secret, senderTo, source, to } from './merchant.ts';

const event = { source, to, type: 'payment.success', bizId: 'PAY1' };

describe('which keys are taken', () => {
  const answer = async (secrets: Secrets, signedWith: string | string[]) => {
    let keyId = '';
    const receiver = receiverFor({ secrets, handler: (_notification, context) => void (keyId = context.keyId) });
    return [line(await receiver.handle(signedRequest({ secret: signedWith, event }))), keyId];
  };
  const [old, fresh] = [generateSecret(), generateSecret()];

  test('R038: while a secret is changed, either side may be first, and the name of the one that matched is told', async () => {
    expect(await answer([old, fresh], old)).toEqual(['200 success handled', '0']);
    expect(await answer([old, fresh], fresh)).toEqual(['200 success handled', '1']);
    expect(await answer(fresh, [old, fresh])).toEqual(['200 success handled', '0']);
    expect(
      await answer(
        [
          { id: '2025', secret: old },
          { id: '2026', secret: fresh },
        ],
        fresh,
      ),
    ).toEqual(['200 success handled', '2026']);
    expect(await answer([fresh], old)).toEqual(['401 fail invalid-signature', '']);
  });

  test('a public key verifies what the private key signed, and never an HMAC made with it', async () => {
    const { privateKey, publicKey } = generateKeyPair();
    expect(await answer(publicKey, privateKey)).toEqual(['200 success handled', '0']);
    const forged = signedRequest({ secret: `whsec_${publicKey.slice('whpk_'.length)}`, event });
    const receiver = receiverFor({ secrets: publicKey, handler: () => undefined });
    expect(line(await receiver.handle(forged))).toBe('401 fail invalid-signature');
  });

  test('secrets are fetched once for many requests, and the last good ones serve while the vault is away', async () => {
    let fetches = 0;
    let isAway = false;
    const receiver = receiverFor({
      handler: () => undefined,
      secrets: () => {
        fetches += 1;
        return isAway ? Promise.reject(new Error('away')) : Promise.resolve([secret]);
      },
    });
    await Promise.all([1, 2, 3].map((n) => receiver.handle(genuine({ bizId: `P${n}` }))));
    expect(fetches).toBe(1);
    isAway = true;
    expect(line(await receiver.handle(genuine({ bizId: 'P4' })))).toBe('200 success handled');
  });

  test('R043: a vault that never answered is trouble of ours, not an invalid signature', async () => {
    const errors: unknown[] = [];
    const receiver = receiverFor({
      handler: () => undefined,
      secrets: () => Promise.reject(new Error('away')),
      onError: ({ error }) => errors.push(error),
    });
    expect(line(await receiver.handle(genuine()))).toBe('503 fail store-unavailable');
    expect(errors).toMatchObject([{ message: 'away' }]);
  });
});

describe('how the words are written', () => {
  test('as a JSON code', async () => {
    const receiver = receiverFor({ replyFormat: 'json-code', handler: () => undefined });
    const reply = await receiver.handle(genuine());
    expect(JSON.parse(reply.body.toString())).toMatchObject({ code: 'SUCCESS' });
    expect(reply.headers['content-type']).toContain('application/json');
    const sent = await senderTo(receiver, { ack: 'json-code' }).deliver({ type: 'a', bizId: '9' });
    expect(sent.delivered).toBe(true);
  });

  test('as the XML of an old platform', async () => {
    const receiver = receiverFor({
      handler: () => undefined,
      replyFormat: ({ word }) => ({
        contentType: 'text/xml',
        body: `<xml><return_code>${word.toUpperCase()}</return_code></xml>`,
      }),
    });
    const reply = await receiver.handle(genuine());
    expect(reply.body.toString()).toBe('<xml><return_code>SUCCESS</return_code></xml>');
    expect(reply.headers['content-type']).toBe('text/xml');
    expect((await receiver.handle({ method: 'POST', headers: {}, body: '' })).body.toString()).toContain('FAIL');
  });
});

describe('profile body-hmac', () => {
  const plain = 'a plain secret of the old platform';
  const legacy = (options: Partial<ReceiverOptions> = {}) =>
    createReceiver({
      source,
      to,
      secrets: plain,
      profile: 'body-hmac',
      store: memoryStore(),
      handler: () => undefined,
      onWarning: () => undefined,
      ...options,
    });
  const old = (body?: string | Buffer) =>
    signedRequest({ secret: plain, event, profile: 'body-hmac', id: 'ntf_1', ...(body === undefined ? {} : { body }) });

  test('its JSON carries its own id and type, and a copy is absorbed', async () => {
    let seen: unknown;
    const receiver = legacy({ handler: (notification) => void (seen = notification) });
    expect(line(await receiver.handle(old()))).toBe('200 success handled');
    expect(seen).toMatchObject({ type: 'payment.success', bizId: 'ntf_1', source, to });
    expect(line(await receiver.handle(old()))).toBe('200 success duplicate');
  });

  const identify: Identify = (body) => {
    const form = new URLSearchParams(body.toString('latin1'));
    return { type: form.get('notify_type') ?? '', bizId: form.get('trade_no') ?? '', data: form };
  };

  test('a form, XML and GBK bytes are read by a function of the merchant, after they were verified', async () => {
    const seen: unknown[] = [];
    const receiver = legacy({ identify, handler: ({ type, bizId }) => void seen.push([type, bizId]) });
    const gbk = Buffer.concat([
      Buffer.from('notify_type=trade&trade_no=2026&subject='),
      Buffer.from('d6a7b8b6b3c9b9a6', 'hex'),
    ]);
    const request = old(gbk);
    request.headers['content-type'] = 'application/x-www-form-urlencoded; charset=GBK';
    expect(line(await receiver.handle(request))).toBe('200 success handled');
    const changed = { ...request, body: Buffer.concat([gbk.subarray(0, -1), Buffer.from([0xa7])]) };
    expect(line(await receiver.handle(changed))).toBe('401 fail invalid-signature');
    const xml = legacy({
      identify: (body) => ({ type: 'xml', bizId: /<id>(.*)<\/id>/.exec(body.toString())?.[1] ?? '' }),
      handler: ({ bizId }) => void seen.push(bizId),
    });
    expect(line(await xml.handle(old('<xml><id>77</id></xml>')))).toBe('200 success handled');
    expect(seen).toEqual([['trade', '2026'], '77']);
  });

  test('a body that cannot be identified is malformed, whatever the function does', async () => {
    const answers: string[] = [];
    const functions: Identify[] = [
      () => {
        throw new Error('no');
      },
      () => undefined as never,
      () => ({ type: '', bizId: '1' }),
      () => ({ type: 'a', bizId: 'x'.repeat(129) }),
      () => Promise.reject(new Error('later')),
    ];
    for (const identify of functions) answers.push(line(await legacy({ identify }).handle(old('a=1'))));
    expect(new Set(answers)).toEqual(new Set(['400 fail malformed']));
    expect(line(await legacy().handle(old('not json')))).toBe('400 fail malformed');
    expect(line(await legacy().handle(old('[]')))).toBe('400 fail malformed');
  });

  test('one receiver speaks one profile: neither signature is taken for the other', async () => {
    const both = { ...genuine(), headers: { ...genuine().headers, ...old(genuine().body).headers } };
    expect(line(await legacy().handle(genuine()))).toBe('401 fail invalid-signature');
    expect(line(await receiverFor({ handler: () => undefined }).handle(old()))).toBe('401 fail invalid-signature');
    const wrong = { ...both, headers: { ...both.headers, 'webhook-signature': 'v1,AAAA' } };
    expect(line(await receiverFor({ handler: () => undefined }).handle(wrong))).toBe('401 fail invalid-signature');
  });

  test('choosing it is warned about once, because it can be replayed', () => {
    const codes: string[] = [];
    legacy({ onWarning: ({ code }) => codes.push(code) });
    expect(codes).toEqual(['RECEIVER_REPLAYABLE_PROFILE']);
  });
});

describe('a raw body in the standard profile', () => {
  test('must say whom it is for: the audience is checked there too', async () => {
    const raw = (audience: string) => genuine({}, { body: `to=${audience}&id=1` });
    const receiver = receiverFor({
      handler: () => undefined,
      identify: (body) => {
        const form = new URLSearchParams(body.toString());
        const audience = form.get('to');
        return { type: 'raw', bizId: form.get('id') ?? '', ...(audience ? { to: audience } : {}) };
      },
    });
    expect(line(await receiver.handle(raw(to)))).toBe('200 success handled');
    expect(line(await receiver.handle(raw('merchant-43')))).toBe('401 fail wrong-audience');
    expect(line(await receiver.handle(raw('')))).toBe('400 fail malformed');
  });
});
