import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { EndpointUrlError, type UrlProblem } from '../errors.js';
import { refuseAddress, type AddressRules } from './addresses.js';

/** What a sender and an endpoint allow a URL to be. */
export interface UrlRules {
  /** Plain http. @default false */
  allowHttp?: boolean;
  /** Ports that may be called; a pair is a range, both ends included. @default {@link defaultPorts} */
  allowedPorts?: readonly (number | readonly [from: number, to: number])[];
  /** When given, an address written in the URL is checked too, so that a mistake is seen when it is made. */
  addresses?: AddressRules;
}

const maxUrlLength = 2048;

/** The web's own, and everything that needs no privilege. Not 22, 25 and the like, whose programs read an HTTP request as commands. */
export const defaultPorts = [80, 443, [1024, 65_535]] as const;

/**
 * Checks an endpoint's URL and returns it normalised: lower case, punycode, one trailing dot of the host removed, no default port.
 *
 * Text in which a reader and a parser could see two different targets is refused rather than repaired.
 *
 * @throws {@link EndpointUrlError} naming the problem; its message holds no user info and no query.
 */
export function checkEndpointUrl(text: string, rules: UrlRules = {}): string {
  const authority = readAuthority(text);
  const url = parse(text, authority);
  if (url.protocol === 'http:' && rules.allowHttp !== true) {
    refuse('http-not-allowed', 'It is plain http. Use https, or allow http for this endpoint (allowHttp: true).');
  }
  checkPort(url, rules.allowedPorts ?? defaultPorts);
  checkHost(url, authority);
  if (rules.addresses !== undefined) {
    checkLiteral(url.hostname, rules.addresses);
  }
  return url.href;
}

/** Origin and path of a URL, for logs and errors: user info, query and fragment can hold secrets. */
export function describeUrl(url: string | URL): string {
  try {
    const { origin, pathname, protocol, host } = new URL(url);
    return `${origin === 'null' ? `${protocol}//${host}` : origin}${pathname}`;
  } catch {
    return 'a text that is not a URL';
  }
}

/** The host of a URL as an address without brackets, or `undefined` when it is a name. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? undefined : bare;
}

/** RFC 6761 §6.3: these names are loopback, whatever a name server says. */
export function isLocalhost(hostname: string): boolean {
  return /^(?:.+\.)?localhost\.?$/i.test(hostname);
}

function refuse(problem: UrlProblem, detail: string): never {
  throw new EndpointUrlError({ problem, detail });
}

/** The text between `//` and the path, as written: what the URL parser makes of it is compared with this. */
function readAuthority(text: string): string {
  if (typeof text !== 'string') refuse('not-a-url', 'It is no text; write https://host/path.');
  if (text.length > maxUrlLength) {
    refuse('too-long', `It is longer than ${maxUrlLength} characters.`);
  }
  // Also format characters and lone surrogates: they are invisible, or the parser drops them.
  if (/[\\\p{C}\p{Z}]/u.test(text)) {
    refuse('characters', 'It holds white space, a control or invisible character, or a backslash.');
  }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== 'http' && scheme !== 'https') {
    refuse('scheme', 'Its scheme is not https (or http).');
  }
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (authority === undefined) {
    refuse('not-a-url', 'It is not an absolute URL; write https://host/path.');
  }
  if (authority.includes('@')) {
    refuse('user-info', 'It holds a user name or password; use the endpoint’s auth option instead.');
  }
  if (text.includes('#')) {
    refuse('fragment', 'It holds a fragment (#…), which is never sent; remove it, or write %23.');
  }
  return authority;
}

function parse(text: string, authority: string): URL {
  const port = /:(\d*)$/.exec(authority)?.[1];
  if (port !== undefined && (port === '' || Number(port) < 1 || Number(port) > 65_535)) {
    refuse('port', 'Its port is not a number from 1 to 65535.');
  }
  if (!URL.canParse(text)) {
    refuse('host', 'Its host is not a valid name or address.');
  }
  const url = new URL(text);
  if (url.hostname.endsWith('.')) {
    // The absolute form of a name is the same host, but no certificate and no SNI carries the dot.
    url.hostname = url.hostname.slice(0, -1);
  }
  return url;
}

function checkPort(url: URL, allowed: NonNullable<UrlRules['allowedPorts']>): void {
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const isAllowed = allowed.some((each) =>
    typeof each === 'number' ? each === port : each[0] <= port && port <= each[1],
  );
  if (!isAllowed) {
    refuse('port', `Port ${port} may not be called; the sender's option allowedPorts lists those that may.`);
  }
}

function checkHost(url: URL, authority: string): void {
  const written = authority.replace(/:\d+$/, '').replace(/\.$/, '').toLowerCase();
  const { hostname } = url;
  if (/^[\d.]+$/.test(hostname) && written !== hostname) {
    // 2130706433, 0x7f.1, 0177.0.0.1, 127.1, full-width digits: all of them are ways to write an address past a reader.
    refuse('host', `Its host is another spelling of the address ${hostname}; write that address.`);
  }
  if (hostname.startsWith('[')) {
    return;
  }
  const isName = hostname.length <= 253 && hostname.split('.').every((label) => /^[a-z0-9_-]{1,63}$/.test(label));
  if (!isName || written.includes('%') || domainToASCII(hostname) === '') {
    refuse('host', 'Its host is not a valid name.');
  }
}

function checkLiteral(hostname: string, rules: AddressRules): void {
  const literal = literalAddress(hostname);
  const candidates = literal === undefined ? (isLocalhost(hostname) ? ['127.0.0.1', '::1'] : []) : [literal];
  const reasons = candidates.map((address) => refuseAddress(address, rules));
  const [first] = reasons;
  if (first !== undefined && !reasons.includes(undefined)) {
    refuse('forbidden-address', `Its host is ${first}.`);
  }
}
