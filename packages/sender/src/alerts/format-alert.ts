import { createHmac } from 'node:crypto';
import type { AlertText } from './alert-words.js';
import type { DingTalkChannel, FeishuChannel, SlackChannel, WeComChannel } from './alert-channel.js';

/** A channel that wants JSON of its own making. */
export type ChatChannel = SlackChannel | DingTalkChannel | WeComChannel | FeishuChannel;

/** WeCom cuts longer texts off, and DingTalk refuses them; both count bytes. */
const maxTextBytes = 2_000;

/**
 * The request that a chat robot understands. Always as plain text, never as markup of theirs: nothing in an endpoint's
 * name can mention everybody, or look like a link with another target.
 *
 * @param timestampSeconds - the database's time; the robots refuse a signature that is over an hour old.
 */
export function formatChat(
  channel: ChatChannel,
  text: AlertText,
  timestampSeconds: number,
): { url: string; body: Buffer } {
  const plain = cut([text.title, ...text.lines].join('\n'));
  switch (channel.kind) {
    case 'slack':
      // With mrkdwn off only these three mean something: <!channel>, <https://…|text>, &lt;
      return { url: channel.url, body: json({ text: escapeMarkup(plain), mrkdwn: false }) };
    case 'dingtalk':
      return {
        url: dingTalkUrl(channel, timestampSeconds),
        body: json({ msgtype: 'text', text: { content: plain }, at: { isAtAll: false } }),
      };
    case 'wecom':
      return { url: channel.url, body: json({ msgtype: 'text', text: { content: plain } }) };
    case 'feishu': {
      // A post, because a plain text of theirs knows <at user_id="all">; an element of tag text knows nothing.
      const content = text.lines.map((line) => [{ tag: 'text', text: line }]);
      const body = { msg_type: 'post', content: { post: { zh_cn: { title: text.title, content } } } };
      return { url: channel.url, body: json({ ...feishuSignature(channel, timestampSeconds), ...body }) };
    }
    default:
      return channel satisfies never;
  }
}

/** The HTML part of a mail. */
export function formatHtml({ title, lines }: AlertText): string {
  const paragraphs = lines.map((line) => `<p>${escapeMarkup(line)}</p>`);
  return `<!doctype html><html><body><h3>${escapeMarkup(title)}</h3>${paragraphs.join('')}</body></html>`;
}

/** `&timestamp=…&sign=…`: HMAC-SHA256 of "timestamp\nsecret" under the secret, in base64. */
function dingTalkUrl({ url, secret }: DingTalkChannel, timestampSeconds: number): string {
  if (secret === undefined) return url;
  const timestamp = String(timestampSeconds * 1000);
  const sign = createHmac('sha256', secret).update(`${timestamp}\n${secret}`).digest('base64');
  const signed = new URL(url);
  signed.searchParams.set('timestamp', timestamp);
  signed.searchParams.set('sign', sign);
  return signed.href;
}

/** The other way round: HMAC-SHA256 of nothing under "timestamp\nsecret", in base64. */
function feishuSignature({ secret }: FeishuChannel, timestampSeconds: number): { timestamp?: string; sign?: string } {
  if (secret === undefined) return {};
  const timestamp = String(timestampSeconds);
  return { timestamp, sign: createHmac('sha256', `${timestamp}\n${secret}`).digest('base64') };
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value), 'utf8');
}

function escapeMarkup(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

/** At most so many bytes, in whole characters. */
function cut(text: string): string {
  if (Buffer.byteLength(text) <= maxTextBytes) return text;
  const bytes = Buffer.from(text).subarray(0, maxTextBytes);
  return `${bytes.toString('utf8').replace(/\ufffd+$/, '')}…`;
}
