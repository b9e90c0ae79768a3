import type { ScriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import type { ConsoleApp } from './console-app.ts';

/** A platform on an ordinary day: merchants that are well, one that fails, one that is held, an hour of attempts. */
export async function scenery(app: ConsoleApp): Promise<ScriptedEndpoint> {
  const { outbox } = app;
  const merchant = await scriptedEndpoint({ status: 500, body: '{"error":"database is down, try later"}' });
  const { url } = merchant;
  await outbox.putEndpoint({ id: 'merchant-42', url, maxAttempts: 3, policy: { gapsMs: [1, 1] } });
  for (const id of ['merchant-07', 'merchant-11', 'merchant-23', 'merchant-58', 'shop-aurora']) {
    await outbox.putEndpoint({
      id,
      url: `https://${id}.example.com/notify`,
      maxInFlight: id === 'shop-aurora' ? 8 : 16,
    });
  }
  await outbox.sender.notifyMany(
    Array.from({ length: 240 }, (_, index) => ({
      endpoint: ['merchant-07', 'merchant-11', 'merchant-23', 'merchant-58', 'shop-aurora'][index % 5]!,
      type: ['payment.success', 'refund.success', 'payment.closed'][index % 3]!,
      bizId: `PAY${20261130000 + index}`,
      subject: `ORDER${7000 + Math.floor(index / 2)}`,
      data: { amount: '100.00' },
    })),
  );
  // An hour of history, written as the workers would have: what matters here is how it looks.
  await outbox.query(
    `insert into attempt (notification_number, round, ordinal, started_at, duration_ms, outcome, status, because, snippet, url)
     select n.number, 1, 1, now() - (n.number % 60) * interval '1 minute' - interval '20 seconds', 30 + abs(hashint8(n.number)::bigint) % 90 + (n.number * 17 % 40),
            case when n.number % 23 = 0 then 'refused' else 'acknowledged' end, case when n.number % 23 = 0 then 503 else 200 end,
            case when n.number % 23 = 0 then 'status-503' else 'handled' end, 'success', 'https://' || n.endpoint || '.example.com/notify'
       from notification n cross join generate_series(1, 2 + abs(hashint8(n.number % 60)) % 4) s where n.endpoint <> 'merchant-42'`,
  );
  await outbox.query(
    `update outbox set state = 1, attempts = 1, settled_at = now() - number * interval '11 seconds',
            reason = (array['handled', 'handled', 'handled', 'duplicate', 'handled', 'ignored'])[1 + number % 6]
      where number % 12 <> 0`,
  );
  await outbox.query(
    `update outbox set state = 2, attempts = 8, settled_at = now() - (300 - number) * interval '11 minutes',
            reason = (array['attempts-used-up', 'gone', 'attempts-used-up', 'payload-conflict', 'gave-up-by-age'])[1 + number % 5]
      where number % 27 = 5 and number > 12`,
  );
  await outbox.query(`update outbox set due_at = now() + number * interval '37 seconds', attempts = 2 where state = 0`);
  await outbox.query(`update notification set created_at = now() - (300 - number) * interval '15 seconds'`);
  await outbox.query(
    `update notification n set created_at = o.settled_at - interval '24 hours 24 minutes'
       from outbox o where o.number = n.number and o.state = 2`,
  );
  await outbox.sender.operations.holdEndpoint('merchant-23', {
    actor: 'olga',
    note: 'planned maintenance until 14:00',
  });
  await outbox.query(
    `update endpoint_health set failures = 12, parks = 2, parked_until = now() + interval '4 minutes'
      where endpoint_key = (select key from endpoint where id = 'merchant-58')`,
  );
  return merchant;
}
