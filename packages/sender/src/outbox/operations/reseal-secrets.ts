import { textOf } from '../database.js';
import { wireKeyId } from '../endpoint-wire.js';
import type { EndpointContext } from '../endpoints.js';
import { quoteSchema } from '../schema-name.js';
import { audit, type Action, type OperationContext } from './context.js';

/**
 * Seals every stored secret with the first key of `secretStorage.keys`, so that the older keys can be taken away.
 *
 * @returns how many were sealed anew; 0 when all of them were already.
 * @throws SecretSealError, changing nothing, if one cannot be opened.
 */
export async function resealSecrets(
  context: OperationContext & { endpoints: EndpointContext },
  options: Action = {},
): Promise<number> {
  const name = quoteSchema(context.schema);
  const { vault } = context.endpoints;
  return context.database.transaction(async (tx) => {
    const rows = await tx.query(
      `select 'secret' as kind, e.key::text as key, e.source, e.id as endpoint, s.id as key_id, s.secret as stored
         from ${name}.endpoint_secret s join ${name}.endpoint e on e.key = s.endpoint_key
       union all
       select 'wire', e.key::text, e.source, e.id, '${wireKeyId}', w.settings
         from ${name}.endpoint_wire w join ${name}.endpoint e on e.key = w.endpoint_key`,
      [],
    );
    const stale = rows.filter((row) => !vault.isCurrent(textOf(row, 'stored')));
    for (const row of stale) {
      const keyId = textOf(row, 'key_id');
      const place = { source: textOf(row, 'source'), endpoint: textOf(row, 'endpoint'), keyId };
      const sealed = vault.seal(vault.open(textOf(row, 'stored'), place), place);
      if (textOf(row, 'kind') === 'wire') {
        await tx.query(`update ${name}.endpoint_wire set settings = $1 where endpoint_key = $2::text::bigint`, [
          sealed,
          textOf(row, 'key'),
        ]);
      } else {
        await tx.query(
          `update ${name}.endpoint_secret set secret = $1 where endpoint_key = $2::text::bigint and id = $3`,
          [sealed, textOf(row, 'key'), keyId],
        );
      }
    }
    if (stale.length > 0)
      await audit(tx, context, { ...options, action: 'reseal-secrets', details: { count: stale.length } });
    return stale.length;
  });
}
