import type { Sender, SenderEvents } from '@bestnotify/sender';
import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { countEvents, renderMetrics } from '../src/work/counters.js';

test('what a worker says is counted by name, and shown in the text format of Prometheus', () => {
  const emitter = new EventEmitter();
  const counters = countEvents(emitter as unknown as Sender);
  const tell = <Name extends keyof SenderEvents>(name: Name, facts: Partial<SenderEvents[Name]>) =>
    emitter.emit(name, facts);
  tell('attempt', { outcome: 'refused' });
  tell('attempt', { outcome: 'refused' });
  tell('attempt', { outcome: 'acknowledged' });
  tell('delivered', {});
  tell('claimLost', {});
  const text = renderMetrics(counters, { inFlight: 7, stats: undefined });
  expect(text).toContain('bestnotify_worker_attempts_total{outcome="refused"} 2\n');
  expect(text).toContain('bestnotify_worker_delivered_total 1\n');
  expect(text).toContain('bestnotify_worker_claims_lost_total 1\n');
  expect(text).toContain('bestnotify_worker_in_flight 7\n');
  expect(text).toContain('bestnotify_worker_database_up 0\n');
  expect(text).not.toContain('bestnotify_outbox_');
  for (const line of text.trim().split('\n'))
    expect(line).toMatch(/^(# TYPE \w+ (counter|gauge)|\w+(\{\w+="[\w-]+"\})? [\d.]+)$/);
});
