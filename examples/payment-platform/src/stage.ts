import { createSender, generateSecret, type EndpointInput, type Sender, type SenderOptions } from '@bestnotify/sender';
import express from 'express';
import { randomBytes } from 'node:crypto';
import { LocalServer, Road } from './local-server.js';
import { createMerchant, type Merchant } from './merchant.js';
import { narrateMerchantDoor, narrateSender } from './narrate.js';
import { openMerchantStore, openPlatformStore, type MerchantStore, type PlatformStore } from './open-stores.js';
import { createPlatform } from './platform.js';
import { createTables, platformTables, type PlatformTables } from './tables.js';
import type { Timeline } from './timeline.js';

/** Both companies, running, and what the story may do to them. Disposing of it stops everything and removes what was written. */
export interface Stage extends AsyncDisposable {
  timeline: Timeline;
  platform: LocalServer;
  platformStore: PlatformStore;
  tables: PlatformTables;
  sender: Sender;
  /** A sender over an outbox that has forgotten everything; see the story. */
  restoredSender: Sender;
  merchant: Merchant;
  merchantServer: LocalServer;
  merchantStore: MerchantStore;
  road: Road;
  /** Business ids by notification id, for the timeline. */
  names: Map<string, string>;
  counts: { conflictsAtNotify: number };
}

const source = 'acme-pay';
const merchantId = 'merchant-42';

/** Policy `alipay` waits 4 min, 10 min, 10 min, 1 h, 2 h, 6 h and 15 h. Nobody watches a demo for a day: this is 600 times faster. */
const shortenedGapsMs = [400, 1_000, 1_000, 6_000, 12_000, 36_000, 90_000];

/** Of the policy's 8: a notification that nobody takes is dead within seconds. */
export const maxAttempts = 4;

const senderOptions = {
  source,
  policies: { 'alipay-600-times-faster': { gapsMs: shortenedGapsMs } },
  // A platform that calls the Internet leaves this out: then private addresses, loopback too, are never called.
  allowPrivateNetwork: ['127.0.0.0/8'],
  // Signing secrets are sealed in the database. In production the key comes from the environment: BESTNOTIFY_SECRET_KEY.
  secretStorage: { keys: [{ id: 'demo', key: randomBytes(32).toString('base64') }] },
} satisfies SenderOptions;

const endpoint = {
  id: merchantId,
  policy: 'alipay-600-times-faster',
  maxAttempts,
  allowHttp: true, // https is the rule; this is 127.0.0.1
  allowPrivateNetwork: ['127.0.0.0/8'], // the endpoint's half of the permission
} satisfies EndpointInput;

/** Opens the stores, sets up both companies, and starts the worker. What was opened is closed again if a later part fails. */
export async function openStage(timeline: Timeline, ports: { platform: number; merchant: number }): Promise<Stage> {
  const closers: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) await closer();
  };
  try {
    const parts = await openParts(timeline, ports, closers);
    return { ...parts, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close().catch(() => undefined); // a store that could not be opened cannot be cleaned either
    throw error;
  }
}

async function openParts(
  timeline: Timeline,
  ports: { platform: number; merchant: number },
  closers: (() => Promise<unknown>)[],
): Promise<Omit<Stage, keyof AsyncDisposable>> {
  const platformStore = await openPlatformStore();
  closers.push(() => platformStore.remove());
  const merchantStore = await openMerchantStore();
  closers.push(() => merchantStore.remove());
  const secret = generateSecret(); // both sides hold it
  const names = new Map<string, string>(); // so that the story can say PAY-A1 where the wire says ntf_…
  const counts = { conflictsAtNotify: 0 };

  const merchant = createMerchant({
    source,
    merchantId,
    secret,
    store: merchantStore.store,
    log: (line) => timeline.does('merchant', line),
  });
  closers.push(() => merchant.receiver.drain());
  const road = new Road(() => timeline.does('network', "loses the merchant's answer"));
  const door = narrateMerchantDoor(timeline, (id) => names.get(id) ?? id);
  const merchantServer = new LocalServer(express().use(road.middleware, door, merchant.app), ports.merchant);
  closers.push(() => merchantServer.goDown());
  await merchantServer.goUp();

  const { db, schemas } = platformStore;
  const tables = platformTables(schemas.business);
  await createTables(db, schemas.business);
  const openSender = async (schema: string): Promise<Sender> => {
    const sender = createSender({ ...senderOptions, database: platformStore.senderDatabase, schema });
    closers.push(() => sender.close());
    await sender.migrate();
    await sender.endpoints.put({ ...endpoint, url: `${merchantServer.url}/notify`, secrets: [secret] });
    narrateSender(timeline, sender);
    return sender;
  };
  const sender = await openSender(schemas.outbox);
  const restoredSender = await openSender(schemas.restored);
  const worker = sender.startWorker({ maxPollMs: 100 }); // looks often, because the gaps are short
  closers.push(() => worker.stop({ graceMs: 2_000 }));

  const platformApp = createPlatform({
    ...{ db, tables, sender, merchantId },
    onCommit: ({ id, bizId }) => names.set(id, bizId),
    onConflict: () => (counts.conflictsAtNotify += 1),
    log: (line) => timeline.does('platform', line),
  });
  const platform = new LocalServer(platformApp, ports.platform);
  closers.push(() => platform.goDown());
  await platform.goUp();
  return {
    ...{ timeline, platform, platformStore, tables, sender, restoredSender },
    ...{ merchant, merchantServer, merchantStore, road, names, counts },
  };
}
