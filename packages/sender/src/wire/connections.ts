import type { SecureContext } from 'node:tls';
import { Agent } from 'undici';
import type { AddressRules } from '../rules/addresses.js';
import { guardedConnector } from './open-connection.js';
import { describeError, NotSentError } from './not-sent-error.js';
import type { AddressResolver } from './resolve-address.js';
import { secureContextOf, tlsIdentity, type TlsSettings } from './tls-identity.js';

/** What decides which connections may serve a request. */
export interface ConnectionNeeds {
  rules: AddressRules;
  tls: TlsSettings | undefined;
}

export interface ConnectionPoolOptions {
  resolver: AddressResolver;
  connectTimeoutMs: number;
  /** Most connections to one origin from one group. */
  maxConnectionsPerOrigin: number;
}

/** Pooled connections, in groups that never mix. */
export interface Connections {
  agentFor(needs: ConnectionNeeds): Agent;
  /** Ends all connections at once, those in use too. */
  close(): Promise<void>;
}

const idleMs = 4000; // below the 5 s after which common servers close: a request into a closing connection is an attempt lost
const longestIdleMs = 30_000;
/**
 * A group is replaced after this long, so that a changed address is seen also where a connection is in steady use.
 * undici's own `clientTtl` reads the clock for each connection it looks at, dozens of times per request.
 */
const groupLifeMs = 5 * 60 * 1000;
const maxHeaderBytes = 16 * 1024;
const maxGroups = 500;

/**
 * One group for each TLS identity and each set of private networks: a pooled connection must not carry a client certificate to
 * another endpoint, nor reach an address on which only its first user was allowed.
 */
export function createConnections(options: ConnectionPoolOptions): Connections {
  const groups = new Map<string, { agent: Agent; madeAtMs: number }>();
  const retired = new Set<Agent>();
  let isClosed = false;

  /** It ends when its requests have; new ones make a new group. */
  function retire(key: string, agent: Agent): void {
    groups.delete(key);
    retired.add(agent);
    void agent.close().finally(() => retired.delete(agent));
  }

  return {
    agentFor(needs) {
      if (isClosed) {
        throw new Error('the connections were closed');
      }
      const key = groupKey(needs);
      const nowMs = performance.now();
      const known = groups.get(key);
      if (known !== undefined && nowMs - known.madeAtMs < groupLifeMs) {
        return known.agent;
      }
      const [oldest] = known !== undefined ? [[key, known] as const] : groups.size >= maxGroups ? groups : [];
      if (oldest !== undefined) {
        retire(oldest[0], oldest[1].agent);
      }
      const agent = createAgent(options, needs);
      groups.set(key, { agent, madeAtMs: nowMs });
      return agent;
    },
    async close() {
      isClosed = true;
      const agents = [...retired, ...[...groups.values()].map(({ agent }) => agent)];
      groups.clear();
      await Promise.all(agents.map((agent) => agent.destroy()));
    },
  };
}

function groupKey({ rules, tls }: ConnectionNeeds): string {
  // Endpoints that open nothing are nearly all, and share one group.
  const opened = rules.senderAllows.length === 0 ? '' : openedBy(rules);
  return tls === undefined ? opened : `${tlsIdentity(tls)} ${opened}`;
}

const openedTexts = new WeakMap<AddressRules, string>();

/** The networks that these rules open, as one text. */
function openedBy(rules: AddressRules): string {
  let text = openedTexts.get(rules);
  if (text === undefined) {
    text = rules.endpointAllows
      .map((network) => network.text)
      .sort()
      .join(' ');
    openedTexts.set(rules, text);
  }
  return text;
}

/** Settings are checked when they are stored; those that cannot be read now are the endpoint's to change. */
function usableContext(tls: TlsSettings = {}): SecureContext {
  try {
    return secureContextOf(tls);
  } catch (error) {
    throw new NotSentError({ because: 'tls', problem: `unusable certificates: ${describeError(error)}`, cause: error });
  }
}

function createAgent(options: ConnectionPoolOptions, { rules, tls }: ConnectionNeeds): Agent {
  const { resolver, connectTimeoutMs, maxConnectionsPerOrigin } = options;
  return new Agent({
    connect: guardedConnector({ resolver, rules, connectTimeoutMs, secureContext: usableContext(tls) }),
    connections: maxConnectionsPerOrigin,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: maxHeaderBytes,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: longestIdleMs,
    // One deadline covers a whole attempt; timers that restart with each byte or interim reply would only seem to.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
