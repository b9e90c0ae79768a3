import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import { refuseAddress, type AddressRules } from '../rules/addresses.js';
import { describeError, isOurFault, NotSentError } from './not-sent-error.js';
import type { AddressResolver } from './resolve-address.js';

/** What one group of connections shares. */
export interface ConnectionSettings {
  resolver: AddressResolver;
  rules: AddressRules;
  secureContext: SecureContext;
  /** Names, TCP and TLS together, in ms. */
  connectTimeoutMs: number;
}

/** Longest wait for one address before the next is tried. Node's 250 ms is less than one round trip to a far-away host. */
const addressAttemptMs = 1500;
const keepAliveProbeMs = 30_000;
const maxSessions = 1000;

type Phase = 'dns' | 'connect' | 'tls';

/** A connector for undici: resolves, checks, and connects to the very addresses that were checked. */
export function guardedConnector(settings: ConnectionSettings): buildConnector.connector {
  const sessions = new Map<string, Buffer>();
  return (options, callback) => {
    const hostname = options.hostname;
    const abort = new AbortController();
    let phase: Phase = 'dns';
    const timer = setTimeout(() => {
      abort.abort(tooSlow(phase, settings.connectTimeoutMs));
    }, settings.connectTimeoutMs);
    const connected = async () => {
      const addresses = await untilAborted(settings.resolver.resolve(hostname, settings.rules), abort.signal);
      phase = 'connect';
      const socket = start(settings, sessions, { options, addresses });
      return established(socket, {
        isTls: options.protocol === 'https:',
        rules: settings.rules,
        signal: abort.signal,
        onPhase: (next) => (phase = next),
      });
    };
    connected()
      .finally(() => {
        clearTimeout(timer);
      })
      .then(
        (socket) => {
          callback(null, socket);
        },
        (error: unknown) => {
          callback(toNotSent(error, phase), null);
        },
      );
  };
}

function start(
  settings: ConnectionSettings,
  sessions: Map<string, Buffer>,
  { options, addresses }: { options: buildConnector.Options; addresses: readonly string[] },
): Socket {
  const isHttps = options.protocol === 'https:';
  const tcp = {
    host: options.hostname,
    port: Number(options.port) || (isHttps ? 443 : 80),
    lookup: pinned(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: addressAttemptMs,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveProbeMs,
  };
  if (!isHttps) {
    return connectTcp(tcp);
  }
  const key = `${options.hostname}:${tcp.port}`;
  const session = sessions.get(key);
  const socket: TLSSocket = connectTls({
    ...tcp,
    secureContext: settings.secureContext,
    servername: isIP(options.hostname) === 0 ? options.hostname : '', // RFC 6066 §3: no addresses in SNI
    rejectUnauthorized: true, // also against NODE_TLS_REJECT_UNAUTHORIZED=0
    ALPNProtocols: ['http/1.1'],
    ...(session !== undefined && { session }),
  });
  return socket.on('session', (fresh: Buffer) => {
    if (sessions.size >= maxSessions) {
      sessions.clear();
    }
    sessions.set(key, fresh);
  });
}

/** A look-up that only ever gives the checked addresses. */
function pinned(addresses: readonly string[]): LookupFunction {
  return (_hostname, options, callback) => {
    const answers = addresses.map((address) => ({ address, family: isIP(address) }));
    if (options.all === true) {
      callback(null, answers);
    } else {
      callback(null, answers[0]?.address ?? '', answers[0]?.family);
    }
  };
}

/** Resolves when the connection can carry a request. The socket is destroyed on every other way out. */
function established(
  socket: Socket,
  connection: { isTls: boolean; rules: AddressRules; signal: AbortSignal; onPhase: (phase: Phase) => void },
): Promise<Socket> {
  const { isTls, rules, signal, onPhase } = connection;
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    socket.on('error', fail); // stays: an error between here and undici's own listener would be uncaught
    socket.once('close', () => {
      fail(new Error('the connection was closed before it was established'));
    });
    socket.once('connect', () => {
      // The addresses were checked before; this is what the kernel really connected to.
      const refusal = refuseAddress(socket.remoteAddress ?? '', rules);
      if (refusal !== undefined) {
        fail(new NotSentError({ because: 'forbidden-address', problem: `connected to ${refusal}` }));
        return;
      }
      onPhase('tls');
      if (!isTls) {
        resolve(socket);
      }
    });
    socket.once('secureConnect', () => {
      resolve(socket);
    });
    signal.addEventListener(
      'abort',
      () => {
        fail(signal.reason as Error);
      },
      { once: true },
    );
  });
}

function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    signal.addEventListener(
      'abort',
      () => {
        reject(signal.reason as Error);
      },
      { once: true },
    );
    promise.then(resolve, reject);
  });
}

function tooSlow(phase: Phase, timeoutMs: number): NotSentError {
  const what = { dns: 'no address', connect: 'no connection', tls: 'no TLS session' }[phase];
  return new NotSentError({ because: phase, problem: `${what} within ${timeoutMs} ms` });
}

function toNotSent(error: unknown, phase: Phase): Error {
  if (error instanceof NotSentError || isOurFault(error)) {
    return error as Error;
  }
  return new NotSentError({ because: phase, problem: describeError(error), cause: error });
}
