import type { Alert, AlertEntry, AlertKind } from './alert.js';

export const alertLocales = ['en', 'zh-CN'] as const;
export type AlertLocale = (typeof alertLocales)[number];

/** An alert for people: plain lines, safe to print, to be escaped for the format they are put in. */
export interface AlertText {
  title: string;
  lines: readonly string[];
}

interface Words {
  title: Readonly<Record<AlertKind, (count: number) => string>>;
  advice: Readonly<Record<AlertKind, string>>;
  entry: (entry: AlertEntry, kind: AlertKind) => string;
  others: (count: number) => string;
  gathered: (ms: number) => string;
  test: string;
}

const en: Words = {
  title: {
    dead: (n) => `${plural(n, 'notification')} given up`,
    parked: (n) => `${plural(n, 'endpoint')} parked: too many failures in a row`,
    disabled: (n) => `${plural(n, 'endpoint')} disabled: gone (410)`,
    refused: (n) => `${plural(n, 'refusal')} by receivers`,
    overdue: (n) => `${plural(n, 'notification')} overdue`,
    suspended: () => 'no endpoint can be reached',
    'claims-lost': (n) => `${plural(n, 'notification')} losing every claim`,
  },
  advice: {
    dead: 'Mend the cause and resend them, or close them with a note.',
    parked: 'One probe at a time is sent until it answers; nothing is lost meanwhile.',
    disabled: 'Nothing is sent there until somebody resumes it.',
    refused: 'Compare the secret, the clock and the set-up of both sides.',
    overdue: 'Do workers run, and can they reach the database?',
    suspended: "Is this platform's own network down? Nothing is charged meanwhile.",
    'claims-lost': 'Something kills the workers that take them, or they take too long.',
  },
  entry: (entry, kind) => {
    const count =
      kind === 'parked'
        ? `${plural(entry.count, 'failure')} in a row, `
        : kind === 'disabled'
          ? ''
          : `${entry.count}, `;
    const first =
      entry.notification && `; first ${entry.notification.type} ${entry.notification.bizId} (${entry.notification.id})`;
    return `${count}${because(entry)}${first ?? ''}, since ${moment(entry.since)}`;
  },
  others: (count) => `and ${plural(count, 'more endpoint')}`,
  gathered: (ms) =>
    `What follows is gathered for ${ms < 60_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`}.`,
  test: 'This is a test. Nothing has happened.',
};

const zhCn: Words = {
  title: {
    dead: (n) => `${n} 条通知已放弃`,
    parked: (n) => `${n} 个端点因连续失败被暂停`,
    disabled: (n) => `${n} 个端点已停用（410 Gone）`,
    refused: (n) => `接收方拒绝了 ${n} 次`,
    overdue: (n) => `${n} 条通知逾期未发`,
    suspended: () => '所有端点都无法连通',
    'claims-lost': (n) => `${n} 条通知反复丢失租约`,
  },
  advice: {
    dead: '排除原因后重发；已人工补偿的，请备注后关闭。',
    parked: '恢复之前每次只发一个探测请求，通知不会丢失。',
    disabled: '在有人恢复之前，不会再向它发送。',
    refused: '请核对双方的密钥、时钟和配置。',
    overdue: '工作进程是否在运行？能否连接数据库？',
    suspended: '是否本平台自身的网络中断？期间不计次数。',
    'claims-lost': '处理它们的工作进程被终止，或处理得太慢。',
  },
  entry: (entry, kind) => {
    const count = kind === 'parked' ? `连续失败 ${entry.count} 次，` : kind === 'disabled' ? '' : `${entry.count}，`;
    const first =
      entry.notification &&
      `；第一条 ${entry.notification.type} ${entry.notification.bizId}（${entry.notification.id}）`;
    return `${count}${because(entry)}${first ?? ''}，始于 ${moment(entry.since)}`;
  },
  others: (count) => `另有 ${count} 个端点`,
  gathered: (ms) =>
    `其后 ${ms < 60_000 ? `${Math.round(ms / 1000)} 秒` : `${Math.round(ms / 60_000)} 分钟`}内的同类告警将合并发送。`,
  test: '这是一条测试消息，没有发生任何事情。',
};

const words: Readonly<Record<AlertLocale, Words>> = { en, 'zh-CN': zhCn };

/** Endpoints that an alert names. */
const shownEntries = 10;

export function alertText(alert: Alert, locale: AlertLocale): AlertText {
  const { title, advice, entry, others, gathered } = words[locale];
  const { kind, count, endpoints, entries } = alert;
  const isAboutEndpoints = kind === 'parked' || kind === 'disabled';
  const shown = entries.slice(0, shownEntries);
  const lines = shown.map((each) => `${each.endpoint === null ? '' : `${each.endpoint}: `}${entry(each, kind)}`);
  if (endpoints > shown.length) lines.push(others(endpoints - shown.length));
  lines.push(advice[kind], gathered(alert.gatheredForMs));
  return {
    title: printable(`[${alert.source}] ${title[kind](isAboutEndpoints ? endpoints : count)}`),
    lines: lines.map(printable),
  };
}

/** What a test send to a channel says. */
export function testText(source: string, locale: AlertLocale): AlertText {
  return { title: printable(`[${source}] bestnotify.test`), lines: [words[locale].test] };
}

function because({ reason, lastAttempt }: AlertEntry): string {
  return lastAttempt === undefined || lastAttempt === reason ? reason : `${reason} (${lastAttempt})`;
}

function moment(iso: string): string {
  return `${iso.slice(0, 19).replace('T', ' ')} UTC`;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

// Control characters, line ends, and what turns the direction of text or hides in it.
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** One line of text, in which nothing can hide: what is unsafe is spelled out, `\u202e`. */
function printable(text: string): string {
  return text.replace(unsafe, (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`);
}
