import type { UrlProblem } from '../src/errors.js';

/** One target: a URL as typed, what its name resolves to, what is allowed, and whether it may be called. */
export interface SsrfRow {
  url: string;
  /** What the name server says; not asked for literals. */
  answers?: readonly string[];
  /** `allowPrivateNetwork` of the sender and of the endpoint. */
  sender?: readonly string[];
  endpoint?: readonly string[];
  denied?: readonly string[];
  verdict: 'allowed' | UrlProblem;
}

const name = 'https://merchant.example/notify';
const forbidden = 'forbidden-address';

/** A public name whose name server answers with one special address. */
const answeredWith = (...addresses: string[]): SsrfRow[] =>
  addresses.map((address) => ({ url: name, answers: [address], verdict: forbidden }));

const typed = (verdict: SsrfRow['verdict'], ...urls: string[]): SsrfRow[] => urls.map((url) => ({ url, verdict }));

/** Both ends of every special-purpose network of IPv4, as an answer to a public name. */
const ipv4Answers = answeredWith(
  ...['0.0.0.0', '0.255.255.255', '10.0.0.0', '10.255.255.255', '100.64.0.0', '100.127.255.255', '127.0.0.1'],
  ...['127.255.255.254', '169.254.0.1', '169.254.169.254', '169.254.170.2', '172.16.0.0', '172.31.255.255'],
  ...['192.0.0.1', '192.0.0.192', '192.0.2.1', '192.31.196.1', '192.52.193.1', '192.88.99.1', '192.168.0.0'],
  ...['192.168.255.255', '192.175.48.1', '198.18.0.0', '198.19.255.255', '198.51.100.7', '203.0.113.9'],
  ...['224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255', '100.100.100.200', '168.63.129.16'],
);

const ipv6Answers = answeredWith(
  ...['::', '::1', '::7f00:1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:0:127.0.0.1', '64:ff9b::7f00:1'],
  ...['64:ff9b::a9fe:a9fe', '64:ff9b::10.0.0.1', '64:ff9b:1::1', '100::1', '2001::1', '2001:0:1:2::', '2001:2::1'],
  ...['2001:10::1', '2001:20::1', '2001:db8::1', '2002:7f00:1::', '2002:808:808::', '2620:4f:8000::1', '3fff::1'],
  ...['4000::1', '5f00::1', 'fc00::1', 'fd00:ec2::254', 'fd20:ce::254', 'fdff:ffff::1', 'fe80::1', 'fe80::1%eth0'],
  ...['fec0::1', 'ff02::1', 'ffff::1'],
);

/** The neighbours of those networks are public. */
const publicAnswers: SsrfRow[] = [
  ...[
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.1',
  ],
  ...[
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
  ],
  ...[
    '198.20.0.0',
    '223.255.255.255',
    '168.63.129.15',
    '2606:4700:4700::1111',
    '2001:4860:4860::8888',
    '64:ff9b::808:808',
  ],
].map((address) => ({ url: name, answers: [address], verdict: 'allowed' }));

/** R119 R121: an address written in the URL, in every spelling a parser takes. */
const literals: SsrfRow[] = [
  ...typed(
    forbidden,
    'https://127.0.0.1/',
    'https://10.0.0.5/',
    'https://169.254.169.254/latest/meta-data',
    'https://0.0.0.0/',
  ),
  ...typed(forbidden, 'https://[::1]/', 'https://[::]/', 'https://[::ffff:127.0.0.1]/', 'https://[::ffff:a9fe:a9fe]/'),
  ...typed(
    forbidden,
    'https://[::ffff:7f00:1]/',
    'https://[0:0:0:0:0:0:0:1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[fe80::1]/',
  ),
  ...typed(
    forbidden,
    'https://127.0.0.1./',
    'https://localhost/',
    'https://LOCALHOST/',
    'https://a.localhost/',
    'https://localhost./',
  ),
  ...typed(
    'host',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://017700000001/',
    'https://127.1/',
  ),
  ...typed(
    'host',
    'https://１２７.0.0.1/',
    'https://127。0。0。1/',
    'https://1.2.3/',
    'https://0x7f.1/',
    'https://%31%32%37.0.0.1/',
  ),
  ...typed('host', 'https://256.256.256.256/', 'https://1.2.3.4.5/', 'https://[::1%25eth0]/', 'https://①②⑦.0.0.1/'),
  ...typed('allowed', 'https://8.8.8.8/', 'https://[2606:4700:4700::1111]/'),
];

/** R130 R128 R127: text in which two readers see two targets, and hosts and ports that are none. */
const texts: SsrfRow[] = [
  ...typed(
    'characters',
    'https://example.test\\@evil.test/',
    'https://example.test/\r\nX: y',
    ' https://example.test/',
    'https://exa\tmple.test/',
  ),
  ...typed(
    'characters',
    'https://example.test/a b',
    'https://example.test/\u2028',
    'https://exam\u00adple.test/',
    'https://example.test/\ud800',
  ),
  ...typed(
    'user-info',
    'https://user:pass@example.test/',
    'https://example.test@127.0.0.1/',
    'https://@example.test/',
    'https://a%40b@example.test/',
  ),
  ...typed(
    'not-a-url',
    'https:example.com/x',
    'https:///example.com/x',
    '/a/../b/%2e%2e/c',
    '//example.com/x',
    'example.com',
    '',
    'https://',
    'https://?x',
  ),
  ...typed(
    'scheme',
    'file:///etc/passwd',
    'ftp://example.com/',
    'gopher://127.0.0.1:6379/_x',
    'javascript:alert(1)',
    'data:text/plain,x',
    'ws://example.com/',
  ),
  ...typed('fragment', 'https://example.com/#x', 'https://example.com#@evil.test/'),
  ...typed(
    'host',
    'https://xn--a/',
    'https://a..b/',
    'https://.example.com/',
    'https://example.com../',
    'https://ex%61mple.com/',
    `https://${'a'.repeat(64)}.example/`,
  ),
  ...typed(
    'port',
    'https://example.com:0/',
    'https://example.com:65536/',
    'https://example.com:/',
    'https://example.com:22/',
    'https://example.com:25/',
  ),
  ...typed('too-long', `https://example.com/${'a'.repeat(2048)}`),
];

const lan = ['10.0.0.0/8'];

/** R125 R122: what the two lists and mixed answers do. */
const rules: SsrfRow[] = [
  { url: name, answers: ['10.0.0.16'], sender: lan, endpoint: lan, verdict: 'allowed' },
  { url: name, answers: ['10.0.0.16'], sender: lan, verdict: forbidden },
  { url: name, answers: ['10.0.0.16'], endpoint: lan, verdict: forbidden },
  { url: name, answers: ['10.0.0.16'], sender: lan, endpoint: ['0.0.0.0/0'], verdict: 'allowed' },
  { url: name, answers: ['10.0.0.16'], sender: ['10.0.0.0/24'], endpoint: ['10.0.1.0/24'], verdict: forbidden },
  { url: name, answers: ['192.168.1.1'], sender: lan, endpoint: ['0.0.0.0/0'], verdict: forbidden },
  { url: name, answers: ['169.254.169.254'], sender: ['169.254.0.0/16'], endpoint: ['0.0.0.0/0'], verdict: forbidden },
  {
    url: name,
    answers: ['169.254.169.254'],
    sender: ['169.254.169.254/32'],
    endpoint: ['169.254.169.254'],
    verdict: 'allowed',
  },
  { url: name, answers: ['64:ff9b::10.0.0.16'], sender: lan, endpoint: ['0.0.0.0/0', '::/0'], verdict: forbidden },
  { url: name, answers: ['::ffff:10.0.0.16'], sender: lan, endpoint: ['0.0.0.0/0', '::/0'], verdict: forbidden },
  { url: 'https://localhost/', sender: ['127.0.0.0/8'], endpoint: ['0.0.0.0/0'], verdict: 'allowed' },
  { url: 'https://[::1]/', sender: ['127.0.0.0/8'], endpoint: ['::/0'], verdict: forbidden },
  { url: 'https://[fd12::5]/', sender: ['fd12::/16'], endpoint: ['::/0'], verdict: 'allowed' },
  { url: name, answers: ['93.184.216.34', '10.0.0.5', '::1'], verdict: forbidden },
  { url: name, answers: ['93.184.216.34', '8.8.8.8', '2606:4700::1'], verdict: 'allowed' },
  { url: name, answers: ['10.0.0.5', '192.168.0.5'], sender: lan, endpoint: lan, verdict: forbidden },
  { url: name, answers: ['8.8.8.8'], denied: ['8.8.0.0/16'], verdict: forbidden },
  { url: name, answers: ['64:ff9b::808:808'], denied: ['8.8.0.0/16'], verdict: forbidden },
  { url: name, answers: ['10.0.0.16'], sender: lan, endpoint: lan, denied: ['10.0.0.16/32'], verdict: forbidden },
  { url: name, answers: ['not an address'], verdict: forbidden },
  { url: name, answers: ['0x7f.1'], verdict: forbidden },
  { url: 'http://merchant.example/', answers: ['8.8.8.8'], verdict: 'http-not-allowed' },
  { url: 'https://merchant.example:8443/', answers: ['8.8.8.8'], verdict: 'allowed' },
  { url: 'https://EXAMPLE.com./hook', answers: ['8.8.8.8'], verdict: 'allowed' },
  { url: 'https://例子.测试/回调', answers: ['8.8.8.8'], verdict: 'allowed' },
];

export const ssrfTable: readonly SsrfRow[] = [
  ...ipv4Answers,
  ...ipv6Answers,
  ...publicAnswers,
  ...literals,
  ...texts,
  ...rules,
];
