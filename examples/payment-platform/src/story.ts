import type { EventName, Sender, SenderEvents } from '@bestnotify/sender';
import type { Stage } from './stage.js';
import type { Voice } from './timeline.js';

const patienceMs = 30_000;

/** Plays the whole story; resolves when every chapter has ended as it should. @throws when one does not. */
export async function tellStory(stage: Stage): Promise<void> {
  await paidAndConfirmed(stage);
  await downForAWhile(stage);
  await answerLost(stage);
  await secondPayload(stage);
  await twoRefunds(stage);
  await rolledBack(stage);
  await deadAndResent(stage);
}

async function paidAndConfirmed(stage: Stage): Promise<void> {
  stage.timeline.title('1. An order is paid, and the merchant confirms');
  await Promise.all([settled(stage.sender, 'PAY-A1'), pay(stage, 'A1', { amount: '100.00' })]);
}

async function downForAWhile(stage: Stage): Promise<void> {
  const { sender, merchantServer, timeline } = stage;
  timeline.title('2. The merchant is down for a while, and catches up');
  await merchantServer.goDown();
  timeline.does('merchant', 'is down');
  const catchingUp = Promise.all([settled(sender, 'PAY-A2'), settled(sender, 'PAY-A3')]);
  await Promise.all([
    failed(sender, 'PAY-A2', 2),
    failed(sender, 'PAY-A3', 2),
    pay(stage, 'A2', { amount: '20.00' }),
    pay(stage, 'A3', { amount: '30.00' }),
  ]);
  await merchantServer.goUp();
  timeline.does('merchant', 'is back');
  await catchingUp;
}

async function answerLost(stage: Stage): Promise<void> {
  stage.timeline.title('3. An answer is lost, so a duplicate arrives and is absorbed');
  stage.road.loseNextAnswer();
  await Promise.all([settled(stage.sender, 'PAY-A4'), pay(stage, 'A4', { amount: '40.00' })]);
  const times = stage.merchant.books.effects.filter(({ bizId }) => bizId === 'PAY-A4').length;
  stage.timeline.note(`It was sent twice; the merchant's books have it ${times === 1 ? 'once' : `${times} times`}.`);
}

async function secondPayload(stage: Stage): Promise<void> {
  const { timeline, restoredSender } = stage;
  timeline.title('4. A second payload under the same business id is refused on both sides');
  await ask(stage, 'operator', {
    says: 'change the amount of PAY-A1 to 1.00',
    method: 'PATCH',
    path: '/payments/PAY-A1',
    body: { amount: '1.00' },
  });
  timeline.note(
    'So the outbox refuses. But suppose that it has forgotten: the platform restores its database from a backup made before A1 was paid. That outbox, a second schema here, takes the wrong amount, and the receiver has to refuse it.',
  );
  const { id } = await restoredSender.notify({
    endpoint: 'merchant-42',
    type: 'payment.success',
    bizId: 'PAY-A1',
    subject: 'A1',
    data: { orderId: 'A1', amount: '1.00' },
  });
  stage.names.set(id, 'PAY-A1');
  timeline.does('platform', 'enqueues PAY-A1 with 1.00 in the restored outbox');
  await Promise.all([settled(restoredSender, 'PAY-A1'), restoredSender.runOnce()]);
}

async function twoRefunds(stage: Stage): Promise<void> {
  const { sender, timeline } = stage;
  timeline.title('5. Two refunds of one order are two events, and both arrive');
  const both = Promise.all([settled(sender, 'REF-A1-1'), settled(sender, 'REF-A1-2')]);
  await refund(stage, 'A1', '10.00');
  await refund(stage, 'A1', '10.00');
  await both;
}

async function rolledBack(stage: Stage): Promise<void> {
  const { timeline, sender } = stage;
  timeline.title('6. An order that is rolled back sends nothing');
  await pay(stage, 'A5', { amount: '99999.00' });
  const { items } = await sender.operations.list({ bizId: 'PAY-A5' });
  timeline.does('platform', `has ${items.length} notifications for PAY-A5 in its outbox`);
}

async function deadAndResent(stage: Stage): Promise<void> {
  const { timeline, sender, merchant } = stage;
  timeline.title('7. A notification goes dead, and is resent by hand');
  timeline.note("The merchant's first release cannot book coupons: its handler throws.");
  await Promise.all([settled(sender, 'PAY-A6'), pay(stage, 'A6', { amount: '60.00', coupon: 'SPRING' })]);
  merchant.deployFix();
  timeline.does('merchant', 'deploys a fix');
  const dead = (await sender.operations.list({ state: 'dead' })).items[0];
  if (dead === undefined) throw new Error('PAY-A6 should be dead by now');
  await Promise.all([
    settled(sender, 'PAY-A6'),
    ask(stage, 'operator', {
      says: `resend ${dead.bizId}`,
      method: 'POST',
      path: `/notifications/${dead.id}/resend`,
    }),
  ]);
}

function pay(stage: Stage, orderId: string, body: { amount: string; coupon?: string }): Promise<void> {
  const coupon = body.coupon === undefined ? '' : ` with coupon ${body.coupon}`;
  const says = `pay ${body.amount} for order ${orderId}${coupon}`;
  return ask(stage, 'buyer', { says, method: 'POST', path: `/orders/${orderId}/pay`, body });
}

function refund(stage: Stage, orderId: string, amount: string): Promise<void> {
  const says = `refund ${amount} of order ${orderId}`;
  return ask(stage, 'operator', { says, method: 'POST', path: `/orders/${orderId}/refunds`, body: { amount } });
}

/** One call to the platform, over HTTP, as everybody else makes it. */
async function ask(
  { timeline, platform }: Stage,
  who: Voice,
  request: { says: string; method: string; path: string; body?: object },
): Promise<void> {
  timeline.says(who, 'platform', request.says);
  const response = await fetch(new URL(request.path, platform.url), {
    method: request.method,
    ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
    headers: { 'content-type': 'application/json' },
  });
  const answer = (await response.json()) as { code?: string; message?: string };
  if (answer.code === undefined) return;
  const { code, message = '' } = answer;
  timeline.says('platform', who, `${response.status} ${code}${message.length > 80 ? '' : `: ${message}`}`);
  if (message.length > 80) timeline.note(message);
}

/** Resolves when this business event is delivered or dead. */
function settled(sender: Sender, bizId: string): Promise<void> {
  return nextOf(sender, ['delivered', 'dead'], (facts) => facts.bizId === bizId);
}

/** Resolves when this attempt of this business event has failed. */
function failed(sender: Sender, bizId: string, attempt: number): Promise<void> {
  return nextOf(sender, ['attempt'], (facts) => facts.bizId === bizId && facts.ordinal === attempt);
}

/** Resolves at the next event of one of these names that matches. @throws when none has come for 30 s. */
function nextOf<Name extends EventName>(
  sender: Sender,
  names: readonly Name[],
  matches: (event: SenderEvents[Name]) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (error?: Error) => {
      clearTimeout(timer);
      for (const name of names) sender.off(name, listener);
      if (error === undefined) resolve();
      else reject(error);
    };
    const listener = (event: SenderEvents[Name]) => {
      if (matches(event)) end();
    };
    const giveUp = () => end(new Error(`no ${names.join(' or ')} came within ${patienceMs / 1000} s`));
    const timer = setTimeout(giveUp, patienceMs).unref();
    for (const name of names) sender.on(name, listener);
  });
}
