import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { ConfigurationError } from '../errors.js';
import { checkList } from '../outbox/check-values.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A network in CIDR form, parsed once. */
export interface Network {
  readonly text: string;
  readonly address: Address;
  readonly bits: number;
}

/** Which special addresses may be called. Public ones may, unless a deny list names them. */
export interface AddressRules {
  /** `allowPrivateNetwork` of the sender, from {@link parseAllowedNetworks}. */
  senderAllows: readonly Network[];
  /** `allowPrivateNetwork` of the endpoint: an address must be in both. `0.0.0.0/0` here means whatever the sender allows. */
  endpointAllows: readonly Network[];
  denies: readonly Network[];
}

interface Block extends Network {
  readonly name: string;
  /** Whether an allow list can open it. What can never be the address of one receiver cannot be opened. */
  readonly canBeAllowed: boolean;
}

function block(cidr: string, name: string, canBeAllowed = true): Block {
  return { ...(parseNetwork(cidr) as Network), name, canBeAllowed };
}

/**
 * What is not the public internet (IANA special-purpose registries for IPv4 and IPv6, and addresses on which clouds serve
 * credentials). The first match counts, so single addresses stand before the networks that hold them.
 */
const blocks: readonly Block[] = [
  block('169.254.169.254/32', 'cloud metadata'),
  block('169.254.170.2/32', 'cloud metadata'), // container credentials
  block('169.254.170.23/32', 'cloud metadata'),
  block('100.100.100.200/32', 'cloud metadata'),
  block('168.63.129.16/32', 'cloud metadata'), // inside public space
  block('192.0.0.192/32', 'cloud metadata'),
  block('fd00:ec2::254/128', 'cloud metadata'),
  block('fd00:ec2::23/128', 'cloud metadata'),
  block('fd20:ce::254/128', 'cloud metadata'),
  block('0.0.0.0/8', '"this network"', false), // Linux connects 0.0.0.0 to loopback
  block('10.0.0.0/8', 'private'),
  block('100.64.0.0/10', 'carrier-grade NAT'),
  block('127.0.0.0/8', 'loopback'),
  block('169.254.0.0/16', 'link-local'),
  block('172.16.0.0/12', 'private'),
  block('192.0.0.0/24', 'IETF protocol'),
  block('192.0.2.0/24', 'documentation'),
  block('192.31.196.0/24', 'AS112', false),
  block('192.52.193.0/24', 'AMT', false),
  block('192.88.99.0/24', '6to4 relay', false),
  block('192.168.0.0/16', 'private'),
  block('192.175.48.0/24', 'AS112', false),
  block('198.18.0.0/15', 'benchmarking'),
  block('198.51.100.0/24', 'documentation'),
  block('203.0.113.0/24', 'documentation'),
  block('224.0.0.0/4', 'multicast', false),
  block('255.255.255.255/32', 'broadcast', false),
  block('240.0.0.0/4', 'reserved', false),
  block('::1/128', 'loopback'),
  block('fc00::/7', 'unique local'),
  block('fe80::/10', 'link-local', false), // needs a zone, which a URL cannot carry
  block('::/128', 'unspecified', false),
  block('::ffff:0:0/96', 'IPv4-mapped', false),
  block('64:ff9b:1::/48', 'local NAT64', false),
  block('2001::/32', 'Teredo', false),
  block('2001::/23', 'IETF protocol', false),
  block('2001:db8::/32', 'documentation', false),
  block('2002::/16', '6to4', false),
  block('2620:4f:8000::/48', 'AS112', false),
  block('3fff::/20', 'documentation', false),
  block('ff00::/8', 'multicast', false),
];

/** IPv6 outside `2000::/3`, and whatever a newer registry of the parser knows and the list above does not. */
const unlisted: Block = { ...block('::/0', 'reserved', false), text: 'not global unicast' };

const globalUnicast = block('2000::/3', 'global unicast');
const nat64 = block('64:ff9b::/96', 'NAT64');

/**
 * Why this address must not be called, as the end of a sentence, or `undefined` if it may.
 *
 * @param address - as a resolver or a parsed URL gives it, an IPv6 one without brackets.
 */
export function refuseAddress(address: string, rules: AddressRules): string | undefined {
  if (isIP(address) === 0 || address.includes('%')) {
    return `${JSON.stringify(address)}, which is not an IP address`;
  }
  const parsed = ipaddr.parse(address);
  // Names on IPv6-only networks resolve to the NAT64 prefix; what counts is the IPv4 address behind the gateway.
  const behind = contains(nat64, parsed) ? new ipaddr.IPv4(parsed.toByteArray().slice(12)) : undefined;
  if (rules.denies.some((network) => contains(network, parsed) || (behind && contains(network, behind)))) {
    return `${address}, which a deny list of the sender names`;
  }
  const special = findBlock(behind ?? parsed);
  const canBeAllowed = special?.canBeAllowed === true && behind === undefined;
  if (
    special === undefined ||
    (canBeAllowed &&
      opens(rules.senderAllows, special, parsed) &&
      rules.endpointAllows.some((each) => contains(each, parsed)))
  ) {
    return undefined;
  }
  return `${address}, which is not public (${special.name}, ${special.text}). ${remedy(special, canBeAllowed)}`;
}

/** A sender's entry counts only inside one block: `0.0.0.0/0` opens nothing, and `169.254.0.0/16` does not open the metadata address. */
function opens(allows: readonly Network[], special: Block, address: Address): boolean {
  return allows.some((network) => isInside(network, special) && contains(network, address));
}

function remedy(special: Block, canBeAllowed: boolean): string {
  return canBeAllowed
    ? `To call it, list ${special.name === 'cloud metadata' ? 'this very address' : 'its network'} in allowPrivateNetwork of both the sender and the endpoint`
    : 'Such an address cannot be allowed';
}

/** The special-purpose block that decides about an address, or `undefined` for a public one. */
function findBlock(address: Address): Block | undefined {
  const named = blocks.find((each) => contains(each, address));
  const isPublic = address.range() === 'unicast' && (address.kind() === 'ipv4' || contains(globalUnicast, address));
  return named ?? (isPublic ? undefined : unlisted);
}

/**
 * Parses the networks of a deny list.
 *
 * @throws {@link ConfigurationError} if it is no list, or naming the entry that is not a network.
 */
export function parseNetworks(texts: readonly string[], option: string): Network[] {
  checkList(option, texts, {
    what: "networks such as ['127.0.0.0/8']",
    ...((texts as unknown) === true && { fix: '`true` is only for endpoints.' }),
  });
  return texts.map((text, index) => {
    const network = parseNetwork(text);
    if (network === undefined) {
      throw new ConfigurationError({
        option: `${option}[${index}]`,
        problem: `is ${JSON.stringify(text)}, which is not a network`,
        fix: 'Write an IP address with a prefix length, such as 10.1.0.0/16 or fd12:3456::/32.',
      });
    }
    return network;
  });
}

/**
 * Parses an `allowPrivateNetwork` list: every entry must lie inside one special network that can be allowed.
 *
 * @throws {@link ConfigurationError} naming the entry that is not such a network.
 */
export function parseAllowedNetworks(texts: readonly string[], option: string): Network[] {
  const networks = parseNetworks(texts, option);
  for (const [index, network] of networks.entries()) {
    const special = blocks.find((each) => isInside(network, each));
    if (special?.canBeAllowed !== true) {
      throw new ConfigurationError({
        option: `${option}[${index}]`,
        problem: `is ${network.text}, which ${special ? `can never be allowed (${special.name})` : 'is not inside one private network'}`,
        fix: 'List each private network by itself, such as 10.0.0.0/8 or 127.0.0.1/32; public addresses need no entry.',
      });
    }
  }
  return networks;
}

function contains(network: Network, address: Address): boolean {
  // The two overloads take their own family only, and the kinds were compared.
  return network.address.kind() === address.kind() && (address as ipaddr.IPv4).match(network.address, network.bits);
}

function isInside(network: Network, outer: Network): boolean {
  return network.bits >= outer.bits && contains(outer, network.address);
}

function parseNetwork(text: string): Network | undefined {
  if (typeof text !== 'string') return undefined;
  const [host = '', prefix, ...rest] = text.split('/');
  if (
    isIP(host) === 0 ||
    host.includes('%') ||
    rest.length > 0 ||
    (prefix !== undefined && !/^\d{1,3}$/.test(prefix))
  ) {
    return undefined;
  }
  const address = ipaddr.parse(host);
  const widest = address.kind() === 'ipv4' ? 32 : 128;
  const bits = prefix === undefined ? widest : Number(prefix);
  return bits > widest ? undefined : { text, address, bits };
}
