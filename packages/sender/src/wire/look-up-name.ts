import { lookup, Resolver } from 'node:dns/promises';

/** What a name server says about a host name. */
export interface NameAnswer {
  /** IPv4 and IPv6 addresses, all of them. */
  addresses: readonly string[];
  /** How long the answer may be kept. */
  ttlMs: number;
}

/** Finds the addresses of a host name, or rejects. May be replaced, as by a resolver of a service mesh. */
export type LookUpName = (hostname: string) => Promise<NameAnswer>;

const queryTimeoutMs = 1500;
const queryTries = 2;
const systemTtlMs = 5000;
/** Half of the threads that Node has for this: a slow system resolver must not stop file access and everything else. */
const maxSystemLookups = 2;

/**
 * Asks the name servers directly, so that a slow one holds up nobody else: `dns.lookup` has four threads for the whole process.
 *
 * @param options.asksSystem - ask the system's resolver about names that DNS does not know: the hosts file and search domains
 *   matter on private networks only.
 */
export function dnsLookUp(options: { asksSystem: boolean }): LookUpName {
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries: queryTries });
  const askSystem = limitConcurrency(maxSystemLookups, async (hostname: string) => {
    const answers = await lookup(hostname, { all: true, order: 'verbatim' });
    return { addresses: answers.map(({ address }) => address), ttlMs: systemTtlMs };
  });
  return async (hostname) => {
    const [v4, v6] = await Promise.allSettled([
      resolver.resolve4(hostname, { ttl: true }),
      resolver.resolve6(hostname, { ttl: true }),
    ]);
    const records = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (records.length > 0) {
      const ttlMs = Math.min(...records.map(({ ttl }) => ttl)) * 1000;
      return { addresses: records.map(({ address }) => address), ttlMs };
    }
    const failure = [v4, v6].find((answer) => answer.status === 'rejected')?.reason as Error | undefined;
    if (options.asksSystem && isUnknownToDns(failure)) {
      return askSystem(hostname);
    }
    throw failure ?? new Error(`${hostname} has no address`);
  };
}

/** A definite no, or no name server at all. After a timeout the system's resolver would only take a thread to time out again. */
function isUnknownToDns(failure: Error | undefined): boolean {
  const code = (failure as { code?: string } | undefined)?.code;
  return code === 'ENOTFOUND' || code === 'ENODATA' || code === 'ECONNREFUSED';
}

function limitConcurrency<Argument, Result>(
  limit: number,
  run: (argument: Argument) => Promise<Result>,
): (argument: Argument) => Promise<Result> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (argument) => {
    if (running >= limit) {
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    running += 1;
    try {
      return await run(argument);
    } finally {
      running -= 1;
      waiting.shift()?.();
    }
  };
}
