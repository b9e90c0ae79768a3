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
/** A connection in steady use is replaced after this long, so that a changed address is seen. */
const connectionLifeMs = 5 * 60 * 1000;
const maxHeaderBytes = 16 * 1024;
const maxGroups = 500;

/**
 * One group for each TLS identity and each set of private networks: a pooled connection must not carry a client certificate to
 * another endpoint, nor reach an address on which only its first user was allowed.
 */
export function createConnections(options: ConnectionPoolOptions): Connections {
  const groups = new Map<string, Agent>();
  let isClosed = false;
  return {
    agentFor(needs) {
      if (isClosed) {
        throw new Error('the connections were closed');
      }
      const key = groupKey(needs);
      const known = groups.get(key);
      if (known !== undefined) {
        return known;
      }
      dropOldest(groups);
      const agent = createAgent(options, needs);
      groups.set(key, agent);
      return agent;
    },
    async close() {
      isClosed = true;
      const agents = [...groups.values()];
      groups.clear();
      await Promise.all(agents.map((agent) => agent.destroy()));
    },
  };
}

function groupKey({ rules, tls }: ConnectionNeeds): string {
  // Endpoints that open nothing are nearly all, and share one group.
  const opened = rules.senderAllows.length === 0 ? [] : rules.endpointAllows.map(({ text }) => text);
  return opened.length === 0 && tls === undefined ? '' : `${tlsIdentity(tls)} ${opened.sort().join(' ')}`;
}

function dropOldest(groups: Map<string, Agent>): void {
  if (groups.size < maxGroups) {
    return;
  }
  for (const [key, agent] of groups) {
    groups.delete(key);
    void agent.close(); // ends when its requests have; new ones make a new group
    break;
  }
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
    clientTtl: connectionLifeMs,
    // One deadline covers a whole attempt; timers that restart with each byte or interim reply would only seem to.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
