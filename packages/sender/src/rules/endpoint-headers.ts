import { ConfigurationError } from '../errors.js';

/** How requests to an endpoint authenticate beside their signature. */
export type EndpointAuth = { basic: { username: string; password: string } } | { bearer: string };

const maxHeaders = 20;
const maxValueLength = 1024;

/** Names that gateways ask for and that are neither ours nor HTTP's; any `x-` name may be used too. */
const allowedNames: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'api-key',
  'apikey',
  'cf-access-client-id',
  'cf-access-client-secret',
  'ocp-apim-subscription-key',
]);
const ownNames = /^x-(?:signature|event-type)$/;

/**
 * Checks an endpoint's static headers and returns them with lower-case names.
 *
 * @throws {@link ConfigurationError} naming the header, never its value.
 */
export function checkEndpointHeaders(
  headers: Readonly<Record<string, string>>,
  option = 'headers',
): Record<string, string> {
  if (typeof headers !== 'object') throw new ConfigurationError({ option, problem: 'must be names with their values' });
  const entries = Object.entries(headers);
  if (entries.length > maxHeaders) {
    throw new ConfigurationError({ option, problem: `holds more than ${maxHeaders} headers` });
  }
  const checked: Record<string, string> = {};
  for (const [name, value] of entries) {
    const lower = name.toLowerCase();
    const at = `${option}[${JSON.stringify(name)}]`;
    if (!isAllowedName(lower) || Object.hasOwn(checked, lower)) {
      throw new ConfigurationError({
        option: at,
        problem: 'may not be set',
        fix: `Use an x-… name of letters, digits and hyphens, or one of ${[...allowedNames].join(', ')}; auth has its own option.`,
      });
    }
    checked[lower] = checkValue(value, at);
  }
  return checked;
}

/** @throws {@link ConfigurationError} if a part cannot be sent in a header; the message never holds it. */
export function checkEndpointAuth(auth: EndpointAuth, option = 'auth'): EndpointAuth {
  const { bearer, basic } = auth as { bearer?: unknown; basic?: unknown };
  if (bearer === undefined && (typeof basic !== 'object' || basic === null)) {
    throw new ConfigurationError({ option, problem: 'must be { bearer } or { basic: { username, password } }' });
  }
  if ('bearer' in auth) {
    checkValue(auth.bearer, `${option}.bearer`);
    if (/\s/.test(auth.bearer)) {
      throw new ConfigurationError({ option: `${option}.bearer`, problem: 'holds white space' });
    }
    return { bearer: auth.bearer };
  }
  const { username, password } = auth.basic;
  checkValue(username, `${option}.basic.username`);
  if (username.includes(':')) {
    throw new ConfigurationError({ option: `${option}.basic.username`, problem: 'holds a colon, which ends it' });
  }
  checkValue(password, `${option}.basic.password`);
  return { basic: { username, password } };
}

/** The value of the header `authorization`. */
export function authorizationOf(auth: EndpointAuth): string {
  return 'bearer' in auth
    ? `Bearer ${auth.bearer}`
    : `Basic ${Buffer.from(`${auth.basic.username}:${auth.basic.password}`).toString('base64')}`;
}

function isAllowedName(name: string): boolean {
  return allowedNames.has(name) || (/^x-[a-z0-9-]{1,62}$/.test(name) && !ownNames.test(name));
}

/** Header values are bytes, not text: outside printable ASCII every hop may damage them, and a line break starts another header. */
function checkValue(value: unknown, option: string): string {
  const isPlain = typeof value === 'string' && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value);
  if (!isPlain || value.length > maxValueLength) {
    throw new ConfigurationError({
      option,
      problem: `must be 1 to ${maxValueLength} printable ASCII characters without spaces at its ends`,
    });
  }
  return value;
}
