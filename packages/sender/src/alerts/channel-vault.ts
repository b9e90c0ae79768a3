import type { Vault } from '../outbox/vault.js';
import { generateSecret } from '@bestnotify/protocol';
import { isAlertSource } from './reserved-source.js';

/** Channels keep their own secrets: a KMS that resolves the merchants' is never asked for theirs. */
export function withoutAlertSecrets(vault: Vault): Vault {
  if (!vault.isResolving) return vault;
  const throwaway = generateSecret();
  return {
    ...vault,
    resolve: (place) =>
      isAlertSource(place.source) ? Promise.resolve([{ id: 'own', secret: throwaway }]) : vault.resolve(place),
  };
}
