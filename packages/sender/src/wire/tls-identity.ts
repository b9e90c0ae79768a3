import { createHash } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { ConfigurationError } from '../errors.js';

/** How connections to an endpoint are secured beyond the default: the system's authorities, TLS 1.2 or newer. */
export interface TlsSettings {
  /** Authorities to trust instead of the default ones, in PEM. */
  ca?: string;
  /** Client certificate chain in PEM, for mutual TLS; needs `key`. */
  cert?: string;
  key?: string;
  passphrase?: string;
  /** @default 'TLSv1.2' */
  minVersion?: 'TLSv1.2' | 'TLSv1.3';
}

/** @throws {@link ConfigurationError} if the certificates cannot be read or do not fit; the message holds no key. */
export function checkTlsSettings(tls: TlsSettings, option = 'tls'): void {
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    throw new ConfigurationError({ option, problem: 'needs cert and key together' });
  }
  try {
    secureContextOf(tls);
  } catch (error) {
    const code = (error as { code?: string }).code ?? 'unknown';
    throw new ConfigurationError({
      option,
      problem: `cannot be used (${code})`,
      fix: 'Give PEM texts: ca, and cert with its own key.',
    });
  }
}

/** Reading certificates costs milliseconds: made once per identity, not per connection. */
export function secureContextOf(tls: TlsSettings): SecureContext {
  const { ca, cert, key, passphrase, minVersion = 'TLSv1.2' } = tls;
  return createSecureContext({
    minVersion,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(passphrase !== undefined && { passphrase }),
  });
}

const identities = new WeakMap<TlsSettings, string>();

/** A name for a TLS identity: equal settings share connections, different ones never do. */
export function tlsIdentity(tls: TlsSettings | undefined): string {
  if (tls === undefined) {
    return '';
  }
  const known = identities.get(tls);
  if (known !== undefined) {
    return known;
  }
  const { ca, cert, key, passphrase, minVersion } = tls;
  const identity = createHash('sha256')
    .update(JSON.stringify([ca, cert, key, passphrase, minVersion]))
    .digest('base64');
  identities.set(tls, identity);
  return identity;
}
