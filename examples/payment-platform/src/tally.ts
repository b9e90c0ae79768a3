import type { NotificationSummary, Sender } from '@bestnotify/sender';
import type { Stage } from './stage.js';

/** What has really happened, read from the outboxes, the receiver and the merchant's books. */
export interface Tally {
  /** Notifications that the outboxes hold as delivered. */
  delivered: number;
  /** Notifications that the outboxes hold as dead. */
  dead: number;
  /** Rounds beyond a notification's first. */
  resent: number;
  /** Copies that the receiver recognised. */
  duplicatesAbsorbed: number;
  /** Second payloads under a known business id: refused at `notify`, and refused by the receiver. */
  conflictsRefused: number;
  /** How often a handler took effect. */
  effects: number;
  /** Committed facts that neither took effect at the merchant nor wait as dead for an operator. */
  lost: number;
}

export interface Audit {
  tally: Tally;
  /** What must never be: one sentence each. */
  faults: string[];
}

/** Compares the platform's committed facts, its outboxes and the merchant's books. */
export async function audit(stage: Stage): Promise<Audit> {
  const outbox = await readOutbox(stage.sender);
  const all = [...outbox, ...(await readOutbox(stage.restoredSender))];
  const inState = (state: NotificationSummary['state']) => all.filter((notification) => notification.state === state);
  const { replies } = stage.merchant.receiver.stats();
  const effects = stage.merchant.books.effects.map(nameOf);
  const facts = await committedFacts(stage);
  const dead = new Set(outbox.filter(({ state }) => state === 'dead').map(nameOf));
  const lost = facts.filter((fact) => !effects.includes(fact) && !dead.has(fact));
  const twice = effects.filter((effect, index) => effects.indexOf(effect) !== index);
  const invented = effects.filter((effect) => !facts.includes(effect));
  return {
    tally: {
      delivered: inState('delivered').length,
      dead: inState('dead').length,
      resent: all.reduce((sum, { round }) => sum + round - 1, 0),
      duplicatesAbsorbed: replies.duplicate,
      conflictsRefused: stage.counts.conflictsAtNotify + replies['payload-conflict'],
      effects: effects.length,
      lost: lost.length,
    },
    faults: [
      ...lost.map((fact) => `${fact} is lost`),
      ...twice.map((fact) => `${fact} took effect more than once`),
      ...invented.map((fact) => `${fact} took effect but was never committed`),
    ],
  };
}

/** All that the platform has committed, from its business tables: what merchants have to hear of. */
async function committedFacts({ platformStore: { db }, tables }: Stage): Promise<string[]> {
  const payments = await db.select({ bizId: tables.payments.id }).from(tables.payments);
  const refunds = await db.select({ bizId: tables.refunds.id }).from(tables.refunds);
  return [
    ...payments.map(({ bizId }) => nameOf({ type: 'payment.success', bizId })),
    ...refunds.map(({ bizId }) => nameOf({ type: 'refund.success', bizId })),
  ];
}

async function readOutbox({ operations }: Sender): Promise<NotificationSummary[]> {
  const notifications: NotificationSummary[] = [];
  let after: string | null = null;
  do {
    const page = await operations.list({ limit: 500, ...(after !== null && { after }) });
    notifications.push(...page.items);
    after = page.next;
  } while (after !== null);
  return notifications;
}

function nameOf({ type, bizId }: { type: string; bizId: string }): string {
  return `${type} ${bizId}`;
}
