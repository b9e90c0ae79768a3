import { expect, test } from 'vitest';
import { alertsFromEnvironment } from '../src/work/alerts-from-environment.js';

const near = { allowHttp: false, allowPrivateNetwork: true };

test('without a variable the configuration file has the word', () => {
  expect(alertsFromEnvironment({})).toEqual({});
  expect(
    alertsFromEnvironment({ BESTNOTIFY_ALERT_SLACK: '', BESTNOTIFY_ALERT_LOCALE: 'zh-CN' }, { windowMs: 1000 }),
  ).toEqual({});
});

test('each variable is a channel of its own, beside those of the file', () => {
  const env = {
    BESTNOTIFY_ALERT_SLACK: 'https://hooks.example/a',
    BESTNOTIFY_ALERT_DINGTALK: 'https://robot.example/b',
    BESTNOTIFY_ALERT_DINGTALK_SECRET: 'SEC1',
    BESTNOTIFY_ALERT_WEBHOOK: 'http://ops.internal/c',
    BESTNOTIFY_ALERT_WEBHOOK_SECRET: 'whsec_c',
    BESTNOTIFY_ALERT_EMAIL: 'a@acme.example, b@acme.example',
    BESTNOTIFY_ALERT_SMTP: 'smtp://mail.example',
    BESTNOTIFY_ALERT_FROM: 'alerts@acme.example',
    BESTNOTIFY_ALERT_LOCALE: 'zh-CN',
    BESTNOTIFY_HEARTBEAT_URL: 'https://hc.example/d',
  };
  const own = { kind: 'wecom', url: 'https://wecom.example/e' } as const;
  expect(alertsFromEnvironment(env, { windowMs: 60_000, channels: { own } })).toEqual({
    alerts: {
      windowMs: 60_000,
      channels: {
        own,
        slack: { kind: 'slack', url: 'https://hooks.example/a', ...near },
        dingtalk: { kind: 'dingtalk', url: 'https://robot.example/b', secret: 'SEC1', ...near },
        webhook: { kind: 'webhook', url: 'http://ops.internal/c', secret: 'whsec_c', ...near, allowHttp: true },
        email: { kind: 'email', to: ['a@acme.example', 'b@acme.example'] },
      },
      email: { smtp: 'smtp://mail.example', from: 'alerts@acme.example' },
      locale: 'zh-CN',
      heartbeat: { url: 'https://hc.example/d', ...near },
    },
  });
});

test('a variable that needs another one says which', () => {
  const missing = (option: string) => expect.objectContaining({ code: 'CLI_USAGE', option }) as Error;
  expect(() => alertsFromEnvironment({ BESTNOTIFY_ALERT_WEBHOOK: 'https://ops.example/' })).toThrow(
    missing('BESTNOTIFY_ALERT_WEBHOOK_SECRET'),
  );
  expect(() => alertsFromEnvironment({ BESTNOTIFY_ALERT_EMAIL: 'a@acme.example' })).toThrow(
    missing('BESTNOTIFY_ALERT_SMTP'),
  );
});
