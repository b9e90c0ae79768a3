import { notifyMany, type NotifyContext } from '../../enqueue/notify.js';
import { newNotificationId } from '@bestnotify/protocol';
import { checkTexts } from '../check-values.js';
import type { Database, Queryable } from '../database.js';
import { UnknownEndpointError } from '../errors.js';
import { audit, uuidOf, type Action, type OperationContext } from './context.js';

/** The type of test notifications. Receivers without a handler for it answer `ignored`, which counts as delivered. */
export const testType = 'bestnotify.test';

/**
 * Sends a test notification to one endpoint: a normal one, with the same signer, guards and judge, that is tried once.
 *
 * @returns its id, to be followed like any other's.
 * @throws UnknownEndpointError
 */
export async function testSend(
  context: OperationContext & { endpoints: NotifyContext },
  endpoint: string,
  options: Action = {},
): Promise<string> {
  checkTexts('endpoints', options.endpoints);
  if (options.endpoints?.includes(endpoint) === false) {
    throw new UnknownEndpointError({ endpoint, source: context.source });
  }
  const { endpoints } = context;
  const id = await context.database.transaction(async (tx) => {
    const input = {
      endpoint,
      type: testType,
      bizId: newNotificationId(endpoints.nowMs()).replace('ntf_', 'test_'),
      maxAttempts: 1,
      data: { message: 'This is a test. Nothing has happened.' },
    };
    const [enqueued] = await notifyMany({ ...endpoints, database: inside(context.database, tx) }, [input]);
    if (enqueued === undefined) throw new Error('notifyMany of one gave none');
    await audit(tx, context, { ...options, action: 'test-send', endpoint, uuid: uuidOf(enqueued.id) });
    return enqueued.id;
  });
  context.onDue();
  return id;
}

/** The transaction that is open already, in the place of its database. */
function inside(database: Database, tx: Queryable): Database {
  return {
    isSingleSession: database.isSingleSession,
    query: (text, parameters) => tx.query(text, parameters),
    transaction: (work) => work(tx),
    script: (text) => database.script(text),
    close: () => database.close(),
  };
}
