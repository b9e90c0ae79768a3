import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Answer } from './answer.js';

/** The built page: beside the code when published, and in the same place seen from the sources. */
const folder = fileURLToPath(new URL('../dist/page', import.meta.url));

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Every file of the page by its path under the console: `/`, `/assets/…`. Read once, so a request names no file. */
export function readPageFiles(): ReadonlyMap<string, { bytes: Buffer; type: string }> {
  const files = new Map<string, { bytes: Buffer; type: string }>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    const type = types[path.extname(file)];
    if (!entry.isFile() || type === undefined) continue;
    const name = path.relative(folder, file).split(path.sep).join('/');
    files.set(name === 'index.html' ? '/' : `/${name}`, { bytes: readFileSync(file), type });
  }
  return files;
}

/** One file as an answer. The page itself gets a nonce for the few styles that its components make while running. */
export function answerFile(name: string, file: { bytes: Buffer; type: string }): Answer {
  if (name !== '/') {
    const caching = name.startsWith('/assets/') ? 'private, max-age=31536000, immutable' : 'private, no-cache';
    return { status: 200, headers: { 'content-type': file.type, 'cache-control': caching }, body: file.bytes };
  }
  const nonce = randomBytes(16).toString('base64url');
  return {
    status: 200,
    headers: { 'content-type': file.type, 'content-security-policy': pagePolicy(nonce) },
    body: file.bytes.toString('utf8').replaceAll('__NONCE__', nonce),
  };
}

function pagePolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
