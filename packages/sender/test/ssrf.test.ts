import { expect, test } from 'vitest';
import { isSenderError } from '../src/errors.js';
import { parseAllowedNetworks, parseNetworks } from '../src/rules/addresses.js';
import { checkEndpointUrl } from '../src/rules/urls.js';
import { NotSentError } from '../src/wire/not-sent-error.js';
import { createResolver } from '../src/wire/resolve-address.js';
import { ssrfTable, type SsrfRow } from './ssrf-table.js';

/** The way of every request: the text is checked, the name resolved, the answers checked. */
async function verdictOn(row: SsrfRow): Promise<string> {
  const rules = {
    senderAllows: parseAllowedNetworks(row.sender ?? [], 'sender'),
    endpointAllows: parseNetworks(row.endpoint ?? [], 'endpoint'),
    denies: parseNetworks(row.denied ?? [], 'denied'),
  };
  const resolver = createResolver({
    lookUp: () => Promise.resolve({ addresses: row.answers ?? ['8.8.8.8'], ttlMs: 0 }),
    timeoutMs: 1000,
  });
  try {
    await resolver.resolve(new URL(checkEndpointUrl(row.url)).hostname, rules);
    return 'allowed';
  } catch (error) {
    if (error instanceof NotSentError) return error.because;
    return isSenderError(error) && 'problem' in error ? String(error.problem) : String(error);
  }
}

test('the table holds at least 120 targets', () => {
  expect(ssrfTable.length).toBeGreaterThanOrEqual(120);
});

test.each(ssrfTable.map((row) => ({ row, title: title(row) })))('R119 R121 R122 R125 $title', async ({ row }) => {
  expect(await verdictOn(row)).toBe(row.verdict);
});

test('an address in a URL is refused when the URL is stored, by the same rule', () => {
  const addresses = { senderAllows: [], endpointAllows: [], denies: [] };
  for (const { url, answers, sender, verdict } of ssrfTable) {
    if (answers !== undefined || sender !== undefined || verdict !== 'forbidden-address') continue;
    expect(() => checkEndpointUrl(url, { addresses }), url).toThrow(
      expect.objectContaining({ code: 'SENDER_ENDPOINT_URL', problem: 'forbidden-address' }),
    );
  }
});

function title({ url, answers, sender, endpoint, denied, verdict }: SsrfRow): string {
  const lists = [
    sender && `sender ${sender.join()}`,
    endpoint && `endpoint ${endpoint.join()}`,
    denied && `denied ${denied.join()}`,
  ];
  const facts = [answers && `→ ${answers.join()}`, ...lists].filter((fact) => fact !== undefined);
  return `${JSON.stringify(url.slice(0, 60))} ${facts.join(' ')}: ${verdict}`;
}
