import { ConfigurationError, EndpointUrlError } from '../errors.js';
import { parseAllowedNetworks, parseNetworks, type AddressRules, type Network } from '../rules/addresses.js';
import { checkEndpointUrl, type UrlRules } from '../rules/urls.js';
import type { ComposedRequest } from './compose-request.js';
import { createConnections } from '../wire/connections.js';
import { Exchange } from '../wire/exchange.js';
import { dnsLookUp, type LookUpName } from '../wire/look-up-name.js';
import { describeError, NotSentError } from '../wire/not-sent-error.js';
import type { Outcome } from './outcome.js';
import { createResolver } from '../wire/resolve-address.js';
import { RunningExchanges } from '../wire/running-exchanges.js';

/** How requests are made. Every field is optional; see {@link delivererDefaults}. */
export interface DelivererOptions {
  /** Longest wait for a connection: name, TCP and TLS together, in ms. @default 5_000 */
  connectTimeoutMs?: number;
  /** Longest time from the start of an attempt to the last byte of its reply, in ms. @default 10_000 */
  requestTimeoutMs?: number;
  /** Private networks that endpoints may be in, as CIDRs, if they also allow it themselves. @default [] */
  allowPrivateNetwork?: readonly string[];
  /** Networks that must not be called, as CIDRs; wins over everything. @default [] */
  denyNetwork?: readonly string[];
  /** Ports that may be called; a pair is a range. @default [80, 443, [1024, 65535]] */
  allowedPorts?: NonNullable<UrlRules['allowedPorts']>;
  /** Most connections to one origin. @default 64 */
  maxConnectionsPerOrigin?: number;
  /** Finds the addresses of a host name. @default the name servers of the system, asked directly */
  lookUpName?: LookUpName;
}

export const delivererDefaults = {
  connectTimeoutMs: 5000,
  requestTimeoutMs: 10_000,
  allowPrivateNetwork: [],
  denyNetwork: [],
  maxConnectionsPerOrigin: 64,
} as const;

/** Makes requests. One per worker: it holds the connections. */
export interface Deliverer {
  /** Makes one request, once: nothing is redirected, repeated or decompressed. Never rejects. */
  readonly deliver: (request: ComposedRequest, options?: { signal?: AbortSignal }) => Promise<Outcome>;
  /** Ends all connections: a request that was written ends as `no-answer`, any other, also a later one, as `internal`. */
  readonly close: () => Promise<void>;
}

/** @throws ConfigurationError if a network is not one, or not one that can be allowed. */
export function createDeliverer(given: DelivererOptions = {}): Deliverer {
  const options = { ...delivererDefaults, ...given };
  for (const option of ['connectTimeoutMs', 'requestTimeoutMs', 'maxConnectionsPerOrigin'] as const) {
    checkCount(option, options[option]);
  }
  const { connectTimeoutMs, requestTimeoutMs, maxConnectionsPerOrigin, allowPrivateNetwork } = options;
  const senderAllows = parseAllowedNetworks(allowPrivateNetwork, 'allowPrivateNetwork');
  const denies = parseNetworks(options.denyNetwork, 'denyNetwork');
  const lookUp = options.lookUpName ?? dnsLookUp({ asksSystem: senderAllows.length > 0 });
  const resolver = createResolver({ lookUp, timeoutMs: connectTimeoutMs });
  const connections = createConnections({ resolver, connectTimeoutMs, maxConnectionsPerOrigin });
  const publicOnly: AddressRules = { senderAllows, endpointAllows: [], denies };
  const rulesFor = memoize(1000, (request: ComposedRequest): AddressRules => ({
    senderAllows,
    endpointAllows: networksOf(request.allowPrivateNetwork),
    denies,
  }));
  const rulesOf = (request: ComposedRequest): AddressRules =>
    senderAllows.length === 0 ? publicOnly : rulesFor(request.allowPrivateNetwork.join(' '), request);
  const targetOf = memoize(10_000, ({ url, allowHttp }: ComposedRequest) => {
    const { origin, pathname, search } = new URL(
      checkEndpointUrl(url, {
        allowHttp,
        ...(options.allowedPorts !== undefined && { allowedPorts: options.allowedPorts }),
      }),
    );
    return { origin, path: pathname + search };
  });
  const running = new RunningExchanges(requestTimeoutMs);

  function send(request: ComposedRequest, onEnd: (outcome: Outcome) => void, signal: AbortSignal | undefined): void {
    const { origin, path } = targetOf(request.allowHttp ? request.url : `https only: ${request.url}`, request);
    const agent = connections.agentFor({ rules: rulesOf(request), tls: request.tls });
    const exchange = new Exchange(signal, (outcome) => {
      running.remove(exchange);
      onEnd(outcome);
    });
    running.add(exchange);
    agent.dispatch({ origin, path, method: 'POST', headers: request.headers, body: request.body }, exchange);
  }

  return {
    deliver: (request, { signal } = {}) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) {
          resolve({ kind: 'aborted', mayHaveArrived: false, durationMs: 0 });
          return;
        }
        try {
          send(request, resolve, signal);
        } catch (error) {
          resolve(failureToStart(error));
        }
      }),
    close: () => connections.close(),
  };
}

function checkCount(option: string, value: number): void {
  // Timers take a signed 32-bit number; a larger one would fire at once.
  if (!(Number.isInteger(value) && value >= 1 && value < 2 ** 31)) {
    throw new ConfigurationError({ option, problem: `must be a whole number from 1 to 2147483647 (got ${value})` });
  }
}

function failureToStart(error: unknown): Outcome {
  if (error instanceof EndpointUrlError) {
    return { kind: 'not-sent', because: 'invalid-url', error: error.message, durationMs: 0 };
  }
  if (error instanceof NotSentError) {
    return { kind: 'not-sent', because: error.because, error: error.message, durationMs: 0 };
  }
  return { kind: 'internal', error: describeError(error), durationMs: 0 };
}

/** What an endpoint stores was checked when it was stored; an entry that is not a network opens nothing. */
function networksOf(texts: readonly string[]): Network[] {
  return texts.flatMap((text) => {
    try {
      return parseNetworks([text], 'allowPrivateNetwork');
    } catch {
      return [];
    }
  });
}

/** Remembers results by key, bounded: the work is small, and so must the memory be. */
function memoize<Argument, Result>(limit: number, make: (argument: Argument) => Result) {
  const results = new Map<string, Result>();
  return (key: string, argument: Argument): Result => {
    const known = results.get(key);
    if (known !== undefined) {
      return known;
    }
    const result = make(argument);
    if (results.size >= limit) {
      results.clear();
    }
    results.set(key, result);
    return result;
  };
}
