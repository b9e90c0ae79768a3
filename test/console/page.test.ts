import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { paid } from '../sender/fresh-outbox.ts';
import { closeBrowser, testBrowser } from './browser.ts';
import { consoleApp } from './console-app.ts';
import { scenery } from './scenery.ts';

afterAll(closeBrowser);

const bizId = 'PAY-7788';

test('an operator finds a dead notification by its business id, reads why, resends it and sees it delivered', async () => {
  await using app = await consoleApp();
  await using merchant = await scenery(app);
  const { sender } = app.outbox;
  const { id } = await sender.notify({ endpoint: 'merchant-42', ...paid, bizId, subject: 'ORDER7' });
  const worker = sender.startWorker();
  await using browser = await testBrowser({ actor: 'olga' });
  const { page } = browser;
  try {
    await page.goto(app.url);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.locator('.recharts-bar-rectangle').first().waitFor();
    await browser.picture('overview-en-light');
    expect(await browser.axe()).toEqual([]);

    await page.keyboard.press('/');
    await page.locator('input[type=search]:focus').waitFor();
    await page.keyboard.type(bizId);
    await page.getByText('PAY20261130221').waitFor({ state: 'detached' }); // the only one left is the one that was asked for
    await page.getByRole('link', { name: `Open ${bizId}` }).waitFor();
    await page.getByText('Dead', { exact: true }).last().waitFor();
    await browser.picture('notifications-en-light');
    expect(await browser.axe()).toEqual([]);

    await page.getByRole('link', { name: `Open ${bizId}` }).click();
    await page.getByText('Every attempt was used up.').waitFor();
    await page.getByText('database is down, try later').first().waitFor();
    expect(page.url()).toContain(id);
    await browser.picture('notification-en-light');
    expect(await browser.axe()).toEqual([]);

    merchant.script(200); // mended
    await page.getByRole('button', { name: 'Resend' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Note for the audit').fill('database is back');
    await browser.picture('resend-en-light');
    expect(await browser.axe()).toEqual([]);
    await dialog.getByRole('button', { name: 'Resend' }).click();
    await page.getByRole('heading', { level: 1 }).getByText('Delivered').waitFor();
    await page.getByText('database is back').waitFor(); // in the audit below
    await browser.picture('delivered-en-light');
  } finally {
    await worker.stop();
  }
  expect(browser.complaints).toEqual([]);
  expect((await sender.operations.show(id)).state).toBe('delivered');
});

test('500 dead letters are resent after a dry run, with progress', async () => {
  await using app = await consoleApp();
  await using endpoint = await scriptedEndpoint(200);
  const { sender } = app.outbox;
  await app.outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
  await sender.notifyMany(
    Array.from({ length: 500 }, (_, index) => ({ endpoint: 'merchant-42', ...paid, bizId: `PAY${1000 + index}` })),
  );
  await app.outbox.query(`update outbox set state = 2, settled_at = now(), attempts = 6, reason = 'attempts-used-up'`);
  await using browser = await testBrowser({ actor: 'olga' });
  const { page } = browser;
  await page.goto(`${app.url}#/dead-letters`);
  await page
    .getByLabel(/^Select PAY/)
    .first()
    .check();
  await page.getByText('1 selected').waitFor();
  await browser.picture('dead-letters-en-light');
  expect(await browser.axe()).toEqual([]);
  await page
    .getByLabel(/^Select PAY/)
    .first()
    .uncheck();

  await page.getByRole('button', { name: 'Resend all that match' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Dry run' }).click();
  await dialog.getByText('500 would be resent.').waitFor();
  expect((await sender.operations.stats()).dead).toBe(500);
  await dialog.getByLabel('How many per second').fill('2000');
  await browser.picture('bulk-resend-en-light');
  expect(await browser.axe()).toEqual([]);
  const worker = sender.startWorker();
  try {
    await dialog.getByRole('button', { name: 'Resend 500' }).click();
    await dialog.getByText('500 of 500 resent').waitFor();
    await dialog.getByText('Finished').waitFor();
    await browser.picture('bulk-resent-en-light');
    await endpoint.received(500, 20_000);
  } finally {
    await worker.stop();
  }
  await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
  await page.getByText('Nothing is dead.').waitFor();
  expect(browser.complaints).toEqual([]);
});

test('a resend that was interrupted is shown after a reload, and continued or stopped there', async () => {
  await using app = await consoleApp();
  await using endpoint = await scriptedEndpoint(200);
  const { sender } = app.outbox;
  await app.outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
  await sender.notifyMany(
    Array.from({ length: 1_200 }, (_, index) => ({ endpoint: 'merchant-42', ...paid, bizId: `PAY${1000 + index}` })),
  );
  const interrupted = async () => {
    await app.outbox.query(`update outbox set state = 2, settled_at = now(), reason = 'attempts-used-up'`);
    const death = new AbortController();
    await sender.operations.resendMany(
      { state: 'dead', endpoint: 'merchant-42' },
      { actor: 'olga', signal: death.signal, onProgress: () => death.abort() },
    );
  };
  await interrupted();
  await using browser = await testBrowser({ actor: 'olga' });
  const { page } = browser;
  await page.goto(`${app.url}#/dead-letters`);
  const runs = page.getByRole('region', { name: 'Unfinished resends' });
  await runs.getByText('500 of 1,200 resent').waitFor();
  await page.reload();
  await runs.getByText('500 of 1,200 resent').waitFor();
  await browser.picture('unfinished-run-en-light');
  expect(await browser.axe()).toEqual([]);
  await runs.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('Nothing is dead.').waitFor();
  await runs.waitFor({ state: 'detached' });
  expect(await sender.operations.bulkRuns()).toEqual([]);

  await interrupted();
  await runs.getByRole('button', { name: 'Stop here' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop here' }).click();
  await runs.waitFor({ state: 'detached' });
  expect((await sender.operations.stats()).dead).toBe(700);
  expect((await sender.operations.audit()).items.map(({ action }) => action)).toEqual([
    'stop-resend-many',
    'resend-many',
    'resume-resend-many',
    'resend-many',
  ]);
  expect(browser.complaints).toEqual([]);
});

test('dead letters that were made good by hand are closed with a note', async () => {
  await using app = await consoleApp();
  await app.outbox.putEndpoint({ id: 'merchant-42' });
  for (const each of ['PAY1', 'PAY2', 'PAY3']) {
    await app.outbox.sender.notify({ endpoint: 'merchant-42', ...paid, bizId: each });
  }
  await app.outbox.query(`update outbox set state = 2, settled_at = now(), reason = 'gone'`);
  await using browser = await testBrowser({ actor: 'olga' });
  const { page } = browser;
  await page.goto(`${app.url}#/dead-letters`);
  await page.getByLabel('Select all on this page').check();
  await page.getByRole('button', { name: 'Close selected' }).click();
  await page.getByLabel('How was it made good?').fill('told them on the phone');
  await page.getByRole('dialog').getByRole('button', { name: 'Close selected' }).click();
  await page.getByText('3 closed.').waitFor();
  await page.getByText('Nothing is dead.').waitFor();
  expect((await app.outbox.sender.operations.audit()).items).toMatchObject(
    Array(3).fill({ action: 'close', actor: 'olga', note: 'told them on the phone' }),
  );
});

test('an endpoint is held and resumed, its secret rotated and shown once, and tested', async () => {
  await using app = await consoleApp();
  await using endpoint = await scenery(app);
  await using browser = await testBrowser({ actor: 'olga' });
  const { page } = browser;
  await page.goto(`${app.url}#/endpoints`);
  const row = page.locator('[data-endpoint="merchant-42"]');
  const choose = async (item: string) => {
    await row.getByRole('button', { name: 'Actions for merchant-42' }).click();
    await page.getByRole('menuitem', { name: item }).click();
    return page.getByRole('dialog');
  };
  await row.waitFor();
  await browser.picture('endpoints-en-light');
  expect(await browser.axe()).toEqual([]);

  await (await choose('Hold')).getByRole('button', { name: 'Hold' }).click();
  await row.getByText('Held').waitFor();
  expect((await app.outbox.sender.endpoints.get('merchant-42'))?.heldBecause).toBe('operator');
  await (await choose('Resume')).getByRole('button', { name: 'Resume' }).click();
  await row.getByText('Held').waitFor({ state: 'detached' });
  expect((await app.outbox.sender.endpoints.get('merchant-42'))?.heldBecause).toBeNull();

  await (await choose('Rotate secret')).getByRole('button', { name: 'Rotate secret' }).click();
  const secret = await page.getByText(/^whsec_/).innerText();
  await browser.picture('rotated-en-light');
  await page.getByRole('button', { name: 'I have kept it' }).click();
  await page.getByText(/^whsec_/).waitFor({ state: 'detached' });
  expect(await page.content()).not.toContain(secret);

  endpoint.script(200);
  await (await choose('Test send')).getByRole('button', { name: 'Test send' }).click();
  await page.getByText('bestnotify.test').first().waitFor();
  await app.outbox.sender.runOnce();
  await page.getByRole('heading', { level: 1 }).getByText('Delivered').waitFor();
  await page.goto(`${app.url}#/audit`);
  await page.getByText('rotated the secret of').waitFor();
  await browser.picture('audit-en-light');
  expect(await browser.axe()).toEqual([]);
  expect(browser.complaints).toEqual([]);
});

const looks = [
  { name: 'zh-light', locale: 'zh-CN', colorScheme: 'light', heading: ['总览', '通知', '接收端', '死信', '操作记录'] },
  { name: 'zh-dark', locale: 'zh-CN', colorScheme: 'dark', heading: ['总览', '通知', '接收端', '死信', '操作记录'] },
  {
    name: 'en-dark',
    locale: 'en-US',
    colorScheme: 'dark',
    heading: ['Overview', 'Notifications', 'Endpoints', 'Dead letters', 'Audit'],
  },
  {
    name: 'en-phone',
    locale: 'en-US',
    colorScheme: 'light',
    viewport: { width: 375, height: 780 },
    heading: ['Overview', 'Notifications', 'Endpoints', 'Dead letters', 'Audit'],
  },
] as const;

test('every page in both languages and themes, and at 375 px: axe finds nothing, nothing sticks out', async () => {
  await using app = await consoleApp();
  await using merchant = await scenery(app);
  const { id } = await app.outbox.sender.notify({ endpoint: 'merchant-42', ...paid, bizId, subject: 'ORDER7' });
  const worker = app.outbox.sender.startWorker();
  await merchant.received(3);
  await worker.stop();
  for (const { name, heading, ...look } of looks) {
    await using browser = await testBrowser({ actor: 'olga', ...look });
    const { page } = browser;
    const places = ['overview', 'notifications', 'endpoints', 'dead-letters', 'audit'];
    for (const [index, place] of places.entries()) {
      await page.goto(`${app.url}#/${place}`);
      await page.getByRole('heading', { level: 1, name: heading[index]!, exact: true }).waitFor();
      await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' });
      await browser.picture(`${place}-${name}`);
      expect([place, name, await browser.axe()]).toEqual([place, name, []]);
      expect([place, name, await sticksOut(page)]).toEqual([place, name, false]);
    }
    await page.goto(`${app.url}#/notifications/${id}`);
    await page.getByRole('heading', { level: 1 }).getByText(bizId).waitFor();
    await browser.picture(`notification-${name}`);
    expect(['notification', name, await browser.axe()]).toEqual(['notification', name, []]);
    expect(['notification', name, await sticksOut(page)]).toEqual(['notification', name, false]);
    expect(browser.complaints).toEqual([]);
  }
}, 180_000);

function sticksOut(page: Page): Promise<boolean> {
  return page.evaluate<boolean>('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}

test('the pictures of the README: why a notification is dead, and what else is', async () => {
  await using app = await consoleApp();
  await using merchant = await scenery(app);
  const { id } = await app.outbox.sender.notify({ endpoint: 'merchant-42', ...paid, bizId, subject: 'ORDER7' });
  const worker = app.outbox.sender.startWorker();
  await merchant.received(3);
  await worker.stop();
  await app.outbox.query(`update endpoint set url = 'https://shop.example.com/notify' where id = 'merchant-42'`);
  await app.outbox.query(
    `update attempt set started_at = now() - (4 - ordinal) * interval '10 minutes', duration_ms = 40 + ordinal * 37, url = 'https://shop.example.com/notify'
      where notification_number = (select max(number) from notification)`,
  );
  await app.outbox.query(
    `update notification set created_at = now() - interval '30 minutes' where number = (select max(number) from notification)`,
  );
  await app.outbox.query(
    `update outbox set settled_at = now() - interval '10 minutes' where number = (select max(number) from outbox)`,
  );
  const viewport = { width: 1200, height: 750 };
  {
    await using browser = await testBrowser({ actor: 'olga', viewport });
    await browser.page.goto(`${app.url}#/notifications/${id}`);
    await browser.page.getByText('database is down, try later').first().waitFor();
    await browser.publishedPicture('console-notification');
  }
  await using browser = await testBrowser({ actor: 'olga', viewport, locale: 'zh-CN', colorScheme: 'dark' });
  await browser.page.goto(`${app.url}#/dead-letters`);
  await browser.page.getByText(bizId).waitFor();
  await browser.publishedPicture('console-dead-letters');
});

test('language and theme are chosen in the page and kept', async () => {
  await using app = await consoleApp();
  await using browser = await testBrowser({ actor: 'vera' });
  const { page } = browser;
  await page.goto(app.url);
  await page.getByRole('button', { name: 'Theme, Language' }).click();
  await page.getByRole('menuitem', { name: '简体中文' }).click();
  await page.getByRole('heading', { name: '总览' }).waitFor();
  await page.getByRole('button', { name: '主题, 语言' }).click();
  await page.getByRole('menuitem', { name: '深色' }).click();
  await page.reload();
  await page.getByRole('heading', { name: '总览' }).waitFor();
  expect(
    await page.evaluate('[document.documentElement.lang, document.documentElement.dataset.mantineColorScheme]'),
  ).toEqual(['zh-CN', 'dark']);
});

test('with the keyboard alone: from page to page, along the rows, into one and back', async () => {
  await using app = await consoleApp();
  await app.outbox.putEndpoint({ id: 'merchant-42' });
  for (const each of ['PAY1', 'PAY2', 'PAY3']) {
    await app.outbox.sender.notify({ endpoint: 'merchant-42', ...paid, bizId: each });
  }
  await using browser = await testBrowser({ actor: 'vera' });
  const { page } = browser;
  await page.goto(app.url);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText('Next and previous row').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('g');
  await page.keyboard.press('n');
  await page.getByRole('link', { name: 'Open PAY3' }).waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1 }).getByText('PAY2').waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'Open PAY3' }).waitFor();
});

test('hostile text from a merchant is shown as text (R199)', async () => {
  await using app = await consoleApp();
  const reply = '</script><img src=x onerror=alert(1)>\u202Eevil\u0007';
  await using endpoint = await scriptedEndpoint({ status: 500, body: reply });
  await app.outbox.putEndpoint({ id: '"><svg/onload=alert(2)>', url: endpoint.url, maxAttempts: 1 });
  const { id } = await app.outbox.sender.notify({
    endpoint: '"><svg/onload=alert(2)>',
    type: 'payment.success',
    bizId: '<img/src=x/onerror=alert(3)>',
    subject: 'javascript:alert(4)',
    data: { text: '<script>alert(5)</script>\u202E', __proto__: 1 },
  });
  await app.outbox.sender.runOnce();
  await app.outbox.sender.operations.close(id, { note: '<b onmouseover=alert(6)>bold</b>', actor: '{{7*7}}' });
  await using browser = await testBrowser({ actor: 'olga' });
  const { page } = browser;
  for (const place of ['', '#/notifications', '#/dead-letters', '#/endpoints', '#/audit', `#/notifications/${id}`]) {
    await page.goto(`${app.url}${place}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' });
    expect(
      await page
        .locator('#page img:not([src="./icon.svg"]), #page svg[onload], #page script, #page b[onmouseover]')
        .count(),
    ).toBe(0);
    expect(await page.locator('a[href^="javascript:"]').count()).toBe(0);
  }
  await page.getByText('<img src=x onerror=alert(1)>').waitFor();
  await page.getByText('\\u{202e}evil\\u{0007}').waitFor(); // what would turn the line around is spelled out
  await browser.picture('hostile-en-light');
  expect(browser.complaints).toEqual([]);
});

test('a person who is signed out meanwhile is told so', async () => {
  let isIn = true;
  await using app = await consoleApp({ authorize: () => (isIn ? { actor: 'olga', role: 'operator' } : undefined) });
  await using browser = await testBrowser({ actor: 'olga' });
  await browser.page.goto(app.url);
  await browser.page.getByRole('heading', { name: 'Overview' }).waitFor();
  isIn = false;
  await browser.page.getByText('Sign in first.').first().waitFor();
  await app.outbox.sender.close();
});
