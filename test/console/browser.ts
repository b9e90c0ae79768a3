import AxeModule from 'axe-core';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { root } from '../scripts/bootstrap.mjs';

/** Where pictures of the page go; git does not see it. */
const artifacts = path.join(root, 'artifacts', 'console');

/** Where those of the README go as well when they are made anew: see `npm run pictures`. */
const published = process.env['BESTNOTIFY_PICTURES'];

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface TestBrowser extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What the page complained about: scripts that failed, and what the content security policy has stopped. */
  readonly complaints: string[];
  picture(name: string): Promise<void>;
  /** What the window shows, as the README has it. */
  publishedPicture(name: string): Promise<void>;
  /** What axe has to say about the page as it stands, as sentences. */
  axe(): Promise<string[]>;
}

let launched: Promise<Browser> | undefined;

/** One process for all tests of a file; each has a context, with cookies and storage, of its own. */
export async function closeBrowser(): Promise<void> {
  await (await launched)?.close();
}

/** A page in a fresh context, signed in as `actor`. */
export async function testBrowser(options: {
  actor: string;
  locale?: string;
  colorScheme?: 'light' | 'dark';
  viewport?: { width: number; height: number };
}): Promise<TestBrowser> {
  const { actor, locale = 'en-GB', colorScheme = 'light', viewport = { width: 1280, height: 860 } } = options;
  launched ??= chromium.launch({ executablePath: findChromium(), headless: true, args: flags });
  const browser = await launched;
  const context = await browser.newContext({
    locale,
    timezoneId: 'Asia/Shanghai',
    colorScheme,
    viewport,
    reducedMotion: 'reduce',
    extraHTTPHeaders: { 'x-actor': actor },
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of (4\d\d|5\d\d)/.test(message.text())) complaints.push(message.text());
  });
  mkdirSync(artifacts, { recursive: true });
  return {
    context,
    page,
    complaints,
    async picture(name) {
      await page.screenshot({ path: path.join(artifacts, `${name}.png`), fullPage: true });
    },
    async publishedPicture(name) {
      for (const folder of [artifacts, ...(published === undefined ? [] : [published])]) {
        await page.screenshot({ path: path.join(folder, `${name}.png`) });
      }
    },
    axe: () => axe(page),
    [Symbol.asyncDispose]: () => context.close(),
  };
}

/** The content security policy stops injected scripts, as it should; the debugger's own evaluation is not bound by it. */
async function axe(page: Page): Promise<string[]> {
  await page.evaluate(AxeModule.source);
  const { violations } = await page.evaluate(() => {
    const { axe: engine } = globalThis as unknown as { axe: typeof AxeModule };
    return engine.run({ resultTypes: ['violations'] }); // listing what passes takes half as long again
  });
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ''}`),
  );
}

/** Debian's Chromium; installed when it is missing and we may. */
function findChromium(): string {
  const places = [process.env['CHROMIUM'], '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
  const find = () => places.find((place) => place !== undefined && existsSync(place));
  const found = find();
  if (found !== undefined) return found;
  if (process.getuid?.() !== 0) {
    throw new Error('No Chromium was found. Install it (Debian: apt-get install -y chromium), or name it in CHROMIUM.');
  }
  console.log('Installing chromium with apt-get, for the tests of the console page…');
  execFileSync('apt-get', ['update'], { stdio: 'ignore' });
  execFileSync('apt-get', ['install', '-y', '--no-install-recommends', 'chromium', 'fonts-wqy-microhei'], {
    stdio: 'ignore',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  const installed = find();
  if (installed === undefined) throw new Error('apt-get installed chromium, but it is not at /usr/bin/chromium.');
  return installed;
}
