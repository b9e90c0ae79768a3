import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { drip, head, reply, type Behaviour } from './torture-server.js';

const acknowledged = 'delivered:acknowledged';

/** Whole replies that acknowledge, in every shape HTTP allows. */
const acknowledging: readonly Behaviour[] = [
  { name: 'the bare word', verdict: acknowledged, run: (s) => void s.write(reply(200, 'success')) },
  {
    name: 'R086 a line break after the word',
    verdict: acknowledged,
    run: (s) => void s.write(reply(200, 'success\r\n')),
  },
  {
    name: 'R086 a BOM, spaces and capitals',
    verdict: acknowledged,
    run: (s) => void s.write(reply(200, '\uFEFF \tSUCCESS\n')),
  },
  { name: 'status 201', verdict: acknowledged, run: (s) => void s.write(reply(201, 'success')) },
  {
    name: 'the reason duplicate',
    verdict: 'delivered:duplicate',
    run: (s) => void s.write(reply(200, 'success', ['Bestnotify-Reason: duplicate'])),
  },
  {
    name: 'a reason that is not ours',
    verdict: acknowledged,
    run: (s) => void s.write(reply(200, 'success', ['Bestnotify-Reason: toString'])),
  },
  {
    name: 'chunks',
    verdict: acknowledged,
    run: (s) =>
      void s.write(
        Buffer.concat([
          head(200, ['Transfer-Encoding: chunked']),
          Buffer.from('3;x=y\r\nsuc\r\n4\r\ncess\r\n0\r\nX-Trailer: 1\r\n\r\n'),
        ]),
      ),
  },
  {
    name: 'one byte at a time',
    verdict: acknowledged,
    run: (s) =>
      drip(
        s,
        Array.from(reply(200, 'success'), (byte) => Buffer.of(byte)),
        { everyMs: 1 },
      ),
  },
  {
    name: 'HTTP/1.0, ended by closing',
    verdict: acknowledged,
    run: (s) => void s.end(Buffer.concat([head('HTTP/1.0 200 OK'), Buffer.from('success')])),
  },
  {
    name: 'connection: close',
    verdict: acknowledged,
    run: (s) => void s.end(reply(200, 'success', ['Connection: close'])),
  },
  {
    name: 'early hints first',
    verdict: acknowledged,
    run: (s) => void s.write(Buffer.concat([head(103, ['Link: </a>']), reply(200, 'success')])),
  },
  {
    name: 'twenty 102 first',
    verdict: acknowledged,
    run: (s) => drip(s, [...Array.from({ length: 20 }, () => head(102)), reply(200, 'success')], { everyMs: 2 }),
  },
  {
    name: 'an answer before the body was read',
    when: 'head',
    bodyBytes: 200_000,
    verdict: acknowledged,
    run: (s) => void s.write(reply(200, 'success')),
  },
  {
    name: 'a hundred cookies',
    verdict: acknowledged,
    run: (s) =>
      void s.write(
        reply(
          200,
          'success',
          Array.from({ length: 100 }, (_, i) => `Set-Cookie: c${i}=1`),
        ),
      ),
  },
  {
    name: 'more bytes behind the reply',
    verdict: acknowledged,
    run: (s) => void s.write(Buffer.concat([reply(200, 'success'), Buffer.from('trailing rubbish')])),
  },
  {
    name: 'R101 a reason phrase that is no text',
    verdict: acknowledged,
    run: (s) => void s.write(reply('HTTP/1.1 200 \xe2\x5c\xff', 'success')),
  },
  {
    name: 'R101 a header that is no text',
    verdict: acknowledged,
    run: (s) =>
      void s.write(
        Buffer.concat([
          Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 7\r\nX-A: \xe2\x5c\xff\r\n\r\nsuccess', 'latin1'),
        ]),
      ),
  },
  {
    name: 'any 2xx where the status decides',
    ack: 'status',
    verdict: acknowledged,
    run: (s) => void s.write(head(204)),
  },
  {
    name: 'code 0 where the code decides',
    ack: 'json-code',
    verdict: acknowledged,
    run: (s) => void s.write(reply(200, '{"code":0}')),
  },
];

/** Replies meant well that are not the word: they are retried, and the log says what to change. */
const nearMisses: readonly Behaviour[] = [
  { name: 'R092 an empty body', hint: /Content-Length: 0/, run: (s: Socket) => void s.write(reply(200)) },
  {
    name: 'R092 Content-Length: 0 and a body behind it',
    hint: /Content-Length: 0/,
    run: (s: Socket) => void s.write(Buffer.concat([head(200, ['Content-Length: 0']), Buffer.from('success')])),
  },
  {
    name: 'an empty body ended by closing',
    hint: /empty/,
    run: (s: Socket) => void s.end(head(200, ['Connection: close'])),
  },
  { name: 'R103 status 204', hint: /204 carries no body/, run: (s: Socket) => void s.write(head(204)) },
  {
    name: 'R103 status 204 with a body',
    verdict: 'retry:no-answer',
    hint: /204 carries no body/,
    run: (s: Socket) => void s.write(Buffer.concat([head(204, ['Content-Length: 7']), Buffer.from('success')])),
  },
  { name: 'status 205', hint: /205 carries no body/, run: (s: Socket) => void s.write(reply(205)) },
  {
    name: 'R086 the word in JSON quotes',
    hint: /JSON string/,
    run: (s: Socket) => void s.write(reply(200, '"success"')),
  },
  { name: 'R086 the word and a NUL', hint: /NUL/, run: (s: Socket) => void s.write(reply(200, 'success\0')) },
  {
    name: 'R086 full-width letters',
    hint: /full-width/,
    run: (s: Socket) => void s.write(reply(200, 'ｓｕｃｃｅｓｓ')),
  },
  { name: 'R086 a zero-width space', hint: /invisible/, run: (s: Socket) => void s.write(reply(200, 'success\u200b')) },
  { name: 'R086 a no-break space', hint: /invisible/, run: (s: Socket) => void s.write(reply(200, '\u00a0success')) },
  {
    name: 'R086 an exclamation mark',
    hint: /among other text|other text/,
    run: (s: Socket) => void s.write(reply(200, 'success!')),
  },
  {
    name: 'R088 the word in a wrapper',
    hint: /JSON/,
    run: (s: Socket) => void s.write(reply(200, '{"data":"success"}')),
  },
  {
    name: 'an error page that holds the word',
    hint: /HTML/,
    run: (s: Socket) => void s.write(reply(200, '<html>no success today</html>')),
  },
  { name: 'unsuccessful', hint: /among other text/, run: (s: Socket) => void s.write(reply(200, 'unsuccessful')) },
  {
    name: 'R104 a compressed word',
    hint: /compressed/,
    run: (s: Socket) => void s.write(reply(200, gzipSync('success'), ['Content-Encoding: gzip'])),
  },
  {
    name: 'R104 a thousand encodings',
    hint: /compressed/,
    run: (s: Socket) =>
      void s.write(reply(200, gzipSync('success'), [`Content-Encoding: ${'gzip, '.repeat(1000)}gzip`])),
  },
  {
    name: 'R104 a decompression bomb',
    hint: /compressed/,
    run: (s: Socket) => void s.write(reply(200, gzipSync(Buffer.alloc(20_000_000)), ['Content-Encoding: gzip'])),
  },
  {
    name: 'a JSON code of another kind',
    ack: 'json-code',
    hint: /number 0|"SUCCESS"/,
    run: (s: Socket) => void s.write(reply(200, '{"code":"0"}')),
  },
].map((each) => ({ verdict: 'retry:wrong-reply', ...each }));

export const wellMeantReplies: readonly Behaviour[] = [...acknowledging, ...nearMisses];
