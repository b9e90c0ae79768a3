import type { Socket } from 'node:net';
import { drip, flood, head, reply, type Behaviour } from './torture-server.js';

const hold = () => undefined;
const kib64 = 64 * 1024;
const storm = (status: number) => Buffer.concat(Array<Buffer>(500).fill(head(status)));
const onlyLonger = 'retry:wrong-reply';

/** Longer than is read: judged by what was read, and not waited for. */
const oversized: readonly Behaviour[] = [
  {
    name: 'R104 an endless body',
    verdict: onlyLonger,
    hint: /longer than 64 KiB/,
    run: async (s) => {
      s.write(head(200));
      await flood(s, Buffer.alloc(16_384, 's'));
    },
  },
  {
    name: 'R107 a burst of 5 MB and then silence',
    verdict: onlyLonger,
    hint: /longer than 64 KiB/,
    run: (s) => void s.write(Buffer.concat([head(200, ['Content-Length: 9000000']), Buffer.alloc(5_000_000, 'x')])),
  },
  {
    name: 'the word and spaces without end',
    verdict: onlyLonger,
    hint: /longer than 64 KiB/,
    run: async (s) => {
      s.write(Buffer.concat([head(200), Buffer.from('success')]));
      await flood(s, Buffer.alloc(16_384, ' '));
    },
  },
  {
    name: 'the word and spaces up to the limit',
    verdict: 'delivered:acknowledged',
    run: (s) => void s.write(reply(200, `success${' '.repeat(kib64 - 7)}`)),
  },
  {
    name: 'the word and spaces one over the limit',
    verdict: onlyLonger,
    hint: /longer than 64 KiB/,
    run: (s) => void s.write(reply(200, `success${' '.repeat(kib64 - 6)}`)),
  },
  {
    name: 'an endless body where the status decides',
    ack: 'status',
    verdict: 'delivered:acknowledged',
    run: async (s) => {
      s.write(head(200));
      await flood(s, Buffer.alloc(16_384, 's'));
    },
  },
  {
    name: 'R110 status 500 with 100 kB',
    verdict: 'retry:status-500',
    counts: true,
    run: (s) => void s.write(reply(500, 'x'.repeat(100_000))),
  },
];

/** Nothing, or never the end of it: only the deadline ends these. */
const endless: readonly Behaviour[] = [
  { name: 'no reply', error: /no reply within/, run: hold },
  {
    name: 'no reply, and the body is not read',
    error: /no reply within/,
    bodyBytes: 5_000_000,
    when: 'connected',
    run: (s: Socket) => void s.pause(),
  },
  {
    name: 'headers and then silence',
    error: /did not end within .*status 200, 0 bytes/,
    run: (s: Socket) => void s.write(head(200, ['Content-Length: 7'])),
  },
  {
    name: 'a dripping status line',
    run: (s: Socket) => drip(s, 'HTTP/1.1 200 OK and so on and on and on'.split(''), { everyMs: 40, forever: true }),
  },
  {
    name: 'a status line without end',
    run: (s: Socket) =>
      drip(s, ['HTTP/1.1 200 ', ...Array<Buffer>(1000).fill(Buffer.alloc(16_384, 'x'))], { everyMs: 5 }),
  },
  {
    name: 'dripping headers',
    run: async (s: Socket) => {
      s.write('HTTP/1.1 200 OK\r\n');
      await drip(s, ['X-A: b\r\n'], { everyMs: 40, forever: true });
    },
  },
  {
    name: 'R106 a dripping body',
    error: /did not end within/,
    snippet: /^73/,
    run: async (s: Socket) => {
      s.write(head(200, ['Transfer-Encoding: chunked']));
      await drip(s, ['1\r\ns\r\n'], { everyMs: 40, forever: true });
    },
  },
  { name: 'R097 103 for ever', run: (s: Socket) => drip(s, [head(103)], { everyMs: 40, forever: true }) },
  {
    name: 'a shorter body than content-length says',
    snippet: /^73756363657373$/,
    run: (s: Socket) => void s.write(Buffer.concat([head(200, ['Content-Length: 100']), Buffer.from('success')])),
  },
  {
    name: 'the word and an end that never comes',
    run: (s: Socket) => void s.write(Buffer.concat([head(200), Buffer.from('success')])),
  },
  {
    name: 'dripping trailers',
    run: async (s: Socket) => {
      s.write(Buffer.concat([head(200, ['Transfer-Encoding: chunked']), Buffer.from('7\r\nsuccess\r\n0\r\n')]));
      await drip(s, ['X-A: b\r\n'], { everyMs: 40, forever: true });
    },
  },
  {
    name: 'chunks without the last one',
    run: (s: Socket) =>
      void s.write(Buffer.concat([head(200, ['Transfer-Encoding: chunked']), Buffer.from('7\r\nsuccess\r\n')])),
  },
].map((each) => ({ verdict: 'retry:no-answer', counts: true, isSlow: true, ...each })) as Behaviour[];

/** The connection ends too early. */
const broken: readonly Behaviour[] = [
  { name: 'closed before the request was read', when: 'connected', run: (s: Socket) => void s.end() },
  {
    name: 'reset before the request was read',
    verdict: /^retry:(no-answer|connect)$/,
    when: 'connected',
    run: (s: Socket) => void s.resetAndDestroy(),
  },
  { name: 'R109 reset after the request', run: (s: Socket) => void s.resetAndDestroy() },
  { name: 'closed after the request', run: (s: Socket) => void s.end() },
  {
    name: 'R098 half a body and a reset',
    snippet: /^(73756363657373)?$/,
    run: async (s: Socket) => {
      await drip(s, [Buffer.concat([head(200, ['Content-Length: 100']), Buffer.from('success')])], { everyMs: 30 });
      s.resetAndDestroy();
    },
  },
  {
    name: 'R098 half a body and the end',
    snippet: /^73756363657373$/,
    run: (s: Socket) => void s.end(Buffer.concat([head(200, ['Content-Length: 100']), Buffer.from('success')])),
  },
  {
    name: 'R098 chunks without the last one and the end',
    run: (s: Socket) =>
      void s.end(Buffer.concat([head(200, ['Transfer-Encoding: chunked']), Buffer.from('7\r\nsuccess\r\n')])),
  },
  {
    name: 'R098 half a body, connection: close, and the end',
    run: (s: Socket) =>
      void s.end(Buffer.concat([head(200, ['Connection: close', 'Content-Length: 100']), Buffer.from('success')])),
  },
  {
    name: 'R098 the word, closed by a reset instead of an end',
    verdict: /^(delivered:acknowledged|retry:no-answer)$/,
    run: async (s: Socket) => {
      await drip(s, [Buffer.concat([head(200, ['Connection: close']), Buffer.from('success')])], { everyMs: 30 });
      s.resetAndDestroy();
    },
  },
  { name: 'half a header and the end', run: (s: Socket) => void s.end('HTTP/1.1 200 OK\r\nContent-Le') },
  { name: 'R097 a storm of 103', error: /interim/, run: (s: Socket) => flood(s, storm(103)) },
  { name: 'R097 a storm of 100 that nobody asked for', run: (s: Socket) => flood(s, storm(100)) },
  { name: 'status 101', run: (s: Socket) => void s.write(head(101, ['Upgrade: websocket', 'Connection: upgrade'])) },
].map((each) => ({ verdict: 'retry:no-answer', ...each })) as Behaviour[];

const chunked = 'Transfer-Encoding: chunked';

/** Not HTTP, or HTTP that can be read in two ways. */
const malformed: readonly Behaviour[] = [
  { name: 'another protocol', run: (s: Socket) => void s.write('SSH-2.0-OpenSSH_9.2\r\n') },
  {
    name: 'another protocol, before the request',
    when: 'connected',
    run: (s: Socket) => void s.write('220 mail.example.test ESMTP\r\n'),
  },
  { name: 'random bytes', run: (s: Socket) => void s.write(Buffer.from('16030100ff0d0a00', 'hex')) },
  { name: 'the word without HTTP', run: (s: Socket) => void s.end('success') },
  {
    name: 'an HTTP version that does not exist',
    run: (s: Socket) => void s.write(reply('HTTP/9.7 200 OK', 'success')),
  },
  { name: 'a status that is no number', run: (s: Socket) => void s.write(reply('HTTP/1.1 2O0 OK', 'success')) },
  {
    name: 'R094 content-length and chunks',
    run: (s: Socket) =>
      void s.write(
        Buffer.concat([head(200, ['Content-Length: 7', chunked]), Buffer.from('7\r\nsuccess\r\n0\r\n\r\n')]),
      ),
  },
  { name: 'R095 content-length twice', run: (s: Socket) => void s.write(reply(200, 'success', ['Content-Length: 7'])) },
  {
    name: 'R095 content-length: 7, 7',
    run: (s: Socket) => void s.write(Buffer.concat([head(200, ['Content-Length: 7, 7']), Buffer.from('success')])),
  },
  { name: 'two lengths that differ', run: (s: Socket) => void s.write(reply(200, 'success', ['Content-Length: 8'])) },
  {
    name: 'a negative length',
    run: (s: Socket) => void s.write(Buffer.concat([head(200, ['Content-Length: -7']), Buffer.from('success')])),
  },
  {
    name: 'a length beyond 64 bits',
    run: (s: Socket) =>
      void s.write(Buffer.concat([head(200, ['Content-Length: 99999999999999999999999']), Buffer.from('success')])),
  },
  {
    name: 'a chunk size that is no number',
    run: (s: Socket) => void s.write(Buffer.concat([head(200, [chunked]), Buffer.from('zz\r\nsuccess\r\n0\r\n\r\n')])),
  },
  {
    name: 'a chunk longer than its size',
    run: (s: Socket) => void s.write(Buffer.concat([head(200, [chunked]), Buffer.from('3\r\nsuccess\r\n0\r\n\r\n')])),
  },
  {
    name: 'a NUL in a header',
    run: (s: Socket) => void s.write(Buffer.from('HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 7\r\n\r\nsuccess')),
  },
  {
    name: 'a header without a colon',
    run: (s: Socket) => void s.write(Buffer.from('HTTP/1.1 200 OK\r\nNonsense\r\nContent-Length: 7\r\n\r\nsuccess')),
  },
  {
    name: 'a space before the colon',
    run: (s: Socket) => void s.write(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length : 7\r\n\r\nsuccess')),
  },
  {
    name: 'R100 a header of 20,000 characters',
    error: /longer than 16 KiB/,
    run: (s: Socket) => void s.write(reply(200, 'success', [`X-Error: ${'e'.repeat(20_000)}`])),
  },
  {
    name: 'headers without end',
    error: /longer than 16 KiB/,
    run: async (s: Socket) => {
      s.write('HTTP/1.1 200 OK\r\n');
      await flood(s, Buffer.from('X-A: bbbbbbbbbbbbbbbb\r\n'.repeat(100)));
    },
  },
].map((each) => ({ verdict: 'retry:no-answer', counts: true, ...each })) as Behaviour[];

export const poisonReplies: readonly Behaviour[] = [...oversized, ...endless, ...broken, ...malformed];
