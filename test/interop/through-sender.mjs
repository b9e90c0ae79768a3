import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { createSender } from '@bestnotify/sender';
import { source } from './signed-request.mjs';

/** Our whole sender, on PGlite, as the other side of the example receivers. */
export async function openSender(scratchDir) {
  const loopback = ['127.0.0.0/8'];
  const sender = createSender({
    source,
    database: `pglite:${path.join(scratchDir, 'outbox')}`,
    allowPrivateNetwork: loopback,
    secretStorage: { keys: [{ id: 'interop', key: randomBytes(32).toString('base64') }] },
    endpointDefaults: { allowHttp: true, allowPrivateNetwork: loopback, owner: 'interop' },
  });
  await sender.migrate();
  return {
    /** Notifies one receiver twice, the second time by resending: the first is handled, the second is a duplicate. */
    async check(row, { url, to, secrets }) {
      await sender.endpoints.put({ id: to, url, secrets });
      const { id } = await sender.notify({
        endpoint: to,
        type: 'refund.success',
        bizId: 'REFUND1',
        data: { note: '退款 </x>', rate: 1e-7 },
      });
      await row.check('notified', () => sender.runOnce().then(({ delivered }) => delivered), 1);
      await sender.operations.resend(id);
      await row.check('resent', () => sender.runOnce().then(({ delivered }) => delivered), 1);
      const reasons = async () => (await sender.operations.show(id))?.attemptLog.map((attempt) => attempt.because);
      await row.check('the receiver’s reasons were kept', reasons, ['handled', 'duplicate']);
    },
    close: () => sender.close(),
  };
}
