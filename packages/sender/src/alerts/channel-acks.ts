import type { AckFunction } from '../worker/judge-response.js';
import type { StoredChannel } from './alert-channel.js';

/**
 * How the robots say that they took it: a status of 200 means nothing to them. Every worker knows these, whatever its
 * options are.
 */
export const channelAcks = {
  'bestnotify-errcode': ({ body }) => memberOf(body, 'errcode') === 0,
  'bestnotify-feishu': ({ body }) => memberOf(body, 'code') === 0 || memberOf(body, 'StatusCode') === 0,
  'bestnotify-slack': ({ body }) => body.toString('utf8').trim() === 'ok',
} as const satisfies Readonly<Record<string, AckFunction>>;

/** The acknowledgement rule of a channel's endpoint. */
export function ackOf(channel: StoredChannel): string {
  switch (channel.kind) {
    case 'webhook':
      return channel.ack ?? 'success';
    case 'dingtalk':
    case 'wecom':
      return 'bestnotify-errcode' satisfies keyof typeof channelAcks;
    case 'feishu':
      return 'bestnotify-feishu' satisfies keyof typeof channelAcks;
    case 'slack':
      return 'bestnotify-slack' satisfies keyof typeof channelAcks;
    case 'email':
    case 'function':
      return 'success';
    default:
      return channel satisfies never;
  }
}

function memberOf(body: Buffer, member: string): unknown {
  try {
    const value = JSON.parse(body.toString('utf8')) as Record<string, unknown> | null;
    return typeof value === 'object' && value !== null && Object.hasOwn(value, member) ? value[member] : undefined;
  } catch {
    return undefined;
  }
}
