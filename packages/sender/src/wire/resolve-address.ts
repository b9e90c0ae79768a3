import { refuseAddress, type AddressRules } from '../rules/addresses.js';
import { isLocalhost, literalAddress } from '../rules/urls.js';
import type { LookUpName } from './look-up-name.js';
import { describeError, NotSentError } from './not-sent-error.js';

/** How answers are kept. */
export interface ResolverOptions {
  lookUp: LookUpName;
  /** Longest wait for an answer, in ms. */
  timeoutMs: number;
  /** Longest that an answer is kept, whatever its TTL says, in ms. @default 60_000 */
  maxTtlMs?: number;
  /** How long a failure is kept, in ms. @default 5_000 */
  failureTtlMs?: number;
  /** A clock that only goes forward, in ms. */
  monotonicMs?: () => number;
}

/** Finds addresses that may be called. */
export interface AddressResolver {
  /** @throws {@link NotSentError} `dns` if there is none, `forbidden-address` if any of them may not be called. */
  resolve(hostname: string, rules: AddressRules): Promise<readonly string[]>;
}

interface Entry {
  answer: Promise<readonly string[]>;
  expiresAtMs: number;
}

const maxEntries = 10_000;
const minTtlMs = 1000; // an answer that may not be kept at all still serves the connections of one burst

/**
 * The one place where a host becomes addresses. What it returns was checked and is what the socket connects to:
 * there is no second look-up in which a name server could say something else.
 */
export function createResolver(options: ResolverOptions): AddressResolver {
  const { maxTtlMs = 60_000, failureTtlMs = 5000, monotonicMs = () => performance.now() } = options;
  const entries = new Map<string, Entry>();

  function ask(hostname: string): Promise<readonly string[]> {
    const known = entries.get(hostname);
    if (known !== undefined && known.expiresAtMs > monotonicMs()) {
      return known.answer; // also while it is being asked: one query per name, however many connections wait
    }
    const entry: Entry = { answer: query(hostname), expiresAtMs: Number.POSITIVE_INFINITY };
    remember(entries, hostname, entry);
    return entry.answer;

    async function query(name: string): Promise<readonly string[]> {
      try {
        const { addresses, ttlMs } = await withTimeout(options.lookUp(name), options.timeoutMs);
        entry.expiresAtMs = monotonicMs() + Math.min(Math.max(ttlMs, minTtlMs), maxTtlMs);
        return addresses;
      } catch (error) {
        entry.expiresAtMs = monotonicMs() + failureTtlMs;
        throw new NotSentError({ because: 'dns', problem: describeError(error), cause: error });
      }
    }
  }

  return {
    async resolve(hostname, rules) {
      const literal = literalAddress(hostname);
      if (literal !== undefined) {
        return checked(hostname, [literal], rules);
      }
      return isLocalhost(hostname) ? loopback(hostname, rules) : checked(hostname, await ask(hostname), rules);
    },
  };
}

/** All of the answers may be called, or none is: a mixed answer is how a filter that picks is walked around. */
function checked(hostname: string, addresses: readonly string[], rules: AddressRules): readonly string[] {
  if (addresses.length === 0) {
    throw new NotSentError({ because: 'dns', problem: `${hostname} has no address` });
  }
  for (const address of addresses) {
    const refusal = refuseAddress(address, rules);
    if (refusal !== undefined) {
      const problem = literalAddress(hostname) === undefined ? `${hostname} is ${refusal}` : refusal;
      throw new NotSentError({ because: 'forbidden-address', problem });
    }
  }
  return addresses;
}

/** Nobody else answers for this name, so here the allowed one of its two addresses may be picked. */
function loopback(hostname: string, rules: AddressRules): readonly string[] {
  const allowed = ['127.0.0.1', '::1'].filter((address) => refuseAddress(address, rules) === undefined);
  return allowed.length > 0 ? allowed : checked(hostname, ['127.0.0.1'], rules);
}

function remember(entries: Map<string, Entry>, hostname: string, entry: Entry): void {
  entries.delete(hostname); // a Map keeps its order of insertion: the first entry is the oldest
  entries.set(hostname, entry);
  if (entries.size > maxEntries) {
    for (const oldest of entries.keys()) {
      entries.delete(oldest);
      break;
    }
  }
}

async function withTimeout<Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer from the name server within ${timeoutMs} ms`));
    }, timeoutMs);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
