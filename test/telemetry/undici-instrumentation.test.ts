import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { expect, test } from 'vitest';
import { request } from 'undici';
import { databases } from '../fixtures/databases.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid } from '../sender/fresh-outbox.ts';
import { recordSpans } from './spans.ts';

const open = () => databases[0]?.open() ?? expect.fail();

test('instrumentation of undici neither tells strangers of our trace nor makes a second span of an attempt', async () => {
  using spans = recordSpans();
  const instrumentation = new UndiciInstrumentation();
  instrumentation.enable();
  await using outbox = await freshOutbox(open);
  await using stranger = await scriptedEndpoint(200);
  await using friend = await scriptedEndpoint(200);
  await outbox.putEndpoint({ id: 'stranger', url: stranger.url });
  await outbox.putEndpoint({ id: 'friend', url: friend.url, traceparent: true });
  await outbox.sender.notifyMany([
    { endpoint: 'stranger', ...paid },
    { endpoint: 'friend', ...paid },
  ]);
  expect(await outbox.sender.runOnce()).toMatchObject({ delivered: 2 });
  const names = spans.all().map(({ name }) => name);
  await request(stranger.url, { method: 'POST', body: 'of the host' });
  instrumentation.disable();

  const [ours, theirs] = stranger.requests;
  expect(ours?.headers).not.toHaveProperty('traceparent');
  expect(theirs?.headers['traceparent']).toMatch(/^00-/); // it is at work, elsewhere
  expect(friend.requests[0]?.rawHeaders.filter((name) => name === 'traceparent')).toHaveLength(1);
  expect(names.filter((name) => name !== 'enqueue payment.success')).toEqual([
    'deliver payment.success',
    'deliver payment.success',
  ]);
});
