import { generateSecret, parseSigningKey } from '@bestnotify/protocol';
import { ConfigurationError } from '../../errors.js';
import { checkNumber, checkText } from '../check-values.js';
import { maxLiveSecrets, storeSecrets } from '../endpoint-secrets.js';
import type { EndpointContext } from '../endpoints.js';
import { intOf, textOf, textOrNull } from '../database.js';
import { UnknownEndpointError } from '../errors.js';
import { quoteSchema } from '../schema-name.js';
import { audit, endpointList, isAmong, type Action, type OperationContext } from './context.js';

/** How a secret is replaced. */
export interface RotateOptions extends Action {
  /** The new secret. Left out, one is generated. */
  secret?: string;
  /** How long the old ones go on signing beside it, in hours; 0 retires them at once, for a leaked key. @default 48 */
  overlapHours?: number;
}

/** The outcome of a rotation. The secret is shown here and never again. */
export interface Rotated {
  id: string;
  secret: string;
}

/**
 * Gives an endpoint a new secret. Until the old ones retire every attempt is signed with all of them, so that the merchant can
 * change at any moment of the overlap.
 *
 * @throws SecretInUseError if it is live on an endpoint of another owner.
 */
export async function rotateSecret(
  context: OperationContext & { endpoints: EndpointContext },
  endpoint: string,
  options: RotateOptions = {},
): Promise<Rotated> {
  const { overlapHours = 48, secret = generateSecret() } = options;
  checkNumber('overlapHours', overlapHours, 0, 24 * 365);
  parseSigningKey(secret);
  checkText('endpoint', endpoint);
  const name = quoteSchema(context.schema);
  return context.database.transaction(async (tx) => {
    // The row is touched, not only locked: its version tells the workers that the keys have changed.
    const [row] = await tx.query(
      `update ${name}.endpoint set updated_at = now() where source = $1 and id = $2 and ${isAmong('id', '$3')} returning key::text as key, owner`,
      [context.source, endpoint, endpointList(options.endpoints)],
    );
    if (row === undefined) throw new UnknownEndpointError({ endpoint, source: context.source });
    const key = textOf(row, 'key');
    await tx.query(
      `update ${name}.endpoint_secret set retires_at = least(retires_at, now() + $2::float8 * interval '1 hour')
        where endpoint_key = $1::text::bigint`,
      [key, overlapHours],
    );
    const [live] = await tx.query(
      `select count(*)::int4 as count from ${name}.endpoint_secret where endpoint_key = $1::text::bigint and (retires_at is null or retires_at > now())`,
      [key],
    );
    if (live !== undefined && intOf(live, 'count') >= maxLiveSecrets) {
      throw new ConfigurationError({
        option: 'overlapHours',
        problem: `would leave endpoint ${endpoint} with more than ${maxLiveSecrets} live secrets`,
        fix: 'Wait until one retires, or rotate with overlapHours: 0.',
      });
    }
    const change = {
      key,
      endpoint,
      owner: textOrNull(row, 'owner'),
      secrets: [{ id: '', secret }],
      isReplacing: false,
    };
    const [id = ''] = await storeSecrets(tx, context.endpoints, change);
    await audit(tx, context, { ...options, action: 'rotate-secret', endpoint, details: { id, overlapHours } });
    return { id, secret };
  });
}
