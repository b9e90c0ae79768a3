import {
  isSenderError,
  notificationStates,
  PayloadConflictError,
  type NotificationState,
  type Sender,
} from '@bestnotify/sender';
import { eq } from 'drizzle-orm';
import express, { type ErrorRequestHandler, type Express, type Request } from 'express';
import type { PlatformDatabase, PlatformTables } from './tables.js';

export interface PlatformParts {
  db: PlatformDatabase;
  tables: PlatformTables;
  sender: Sender;
  /** The merchant all orders of this small platform belong to. */
  merchantId: string;
  /** Called after a commit that wrote a notification. */
  onCommit: (notified: { id: string; bizId: string }) => void;
  /** Called when a second payload under a known business id was refused: somebody has to mend the program that did it. */
  onConflict: (error: PayloadConflictError) => void;
  log: (line: string) => void;
}

/** A reason to say no to a buyer; thrown inside a transaction, it takes everything back. */
class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** A payment platform: orders, payments and refunds, each written together with the notification that tells the merchant. */
export function createPlatform(parts: PlatformParts): Express {
  const { sender } = parts;
  const app = express();
  app.use(express.json());

  app.post('/orders/:orderId/pay', async (req, res) => {
    res.status(201).json(await payOrder(parts, req.params.orderId, readPayment(req)));
  });
  app.post('/orders/:orderId/refunds', async (req, res) => {
    res.status(201).json(await refundOrder(parts, req.params.orderId, readPayment(req).amount));
  });
  app.patch('/payments/:paymentId', async (req, res) => {
    res.json(await correctPayment(parts, req.params.paymentId, readPayment(req).amount));
  });

  // For operators. A real platform puts this behind a login.
  app.get('/notifications', async (req, res) => {
    const { state, bizId, after } = req.query;
    res.json(
      await sender.operations.list({
        ...(isState(state) && { state }),
        ...(typeof bizId === 'string' && { bizId }),
        ...(typeof after === 'string' && { after }),
      }),
    );
  });
  app.get('/notifications/:id', async (req, res) => {
    const { body, attemptLog, ...facts } = await sender.operations.show(req.params.id);
    const attempts = attemptLog.map((attempt) => ({ ...attempt, snippet: attempt.snippet?.toString() }));
    res.json({ ...facts, body: body?.toString(), attempts });
  });
  app.post('/notifications/:id/resend', async (req, res) => {
    await sender.operations.resend(req.params.id, { actor: 'operator of the demo' });
    res.status(202).json({ resent: req.params.id });
  });

  app.use(answerErrors(parts));
  return app;
}

interface Payment {
  amount: string;
  coupon: string | undefined;
}

async function payOrder({ db, tables, sender, merchantId, onCommit, log }: PlatformParts, id: string, paid: Payment) {
  const { amount, coupon } = paid;
  const paymentId = `PAY-${id}`;
  // db.transaction does as well; through the sender, its workers wake right after the commit instead of at their next poll.
  const notified = await sender.transaction(db, async (tx) => {
    const [order] = await tx
      .insert(tables.orders)
      .values({ id, state: 'paid', amount })
      .onConflictDoNothing()
      .returning();
    if (order === undefined) throw new RefusedError(`order ${id} is paid already`);
    await tx.insert(tables.payments).values({ id: paymentId, orderId: id, amount });
    const result = await sender.notify(
      {
        endpoint: merchantId,
        type: 'payment.success',
        bizId: paymentId,
        subject: id,
        data: { orderId: id, amount, ...(coupon !== undefined && { coupon }) },
      },
      { tx }, // the same transaction: there is no moment in which one exists without the other
    );
    // Late on purpose: the order, the payment and the notification are written by now, and all three are taken back.
    if (Number(amount) > 10_000) throw new RefusedError(`${amount} is over this buyer's limit`);
    return result;
  });
  log(`commits order ${id} (paid ${amount}), payment ${paymentId} and their notification in one transaction`);
  onCommit({ id: notified.id, bizId: paymentId });
  return { orderId: id, paymentId, notification: notified.id };
}

async function refundOrder(
  { db, tables, sender, merchantId, onCommit, log }: PlatformParts,
  orderId: string,
  amount: string,
) {
  const { refundId, notified } = await sender.transaction(db, async (tx) => {
    const [order] = await tx.select().from(tables.orders).where(eq(tables.orders.id, orderId)).for('update');
    if (order === undefined) throw new RefusedError(`order ${orderId} is not paid`);
    const earlier = await tx.select().from(tables.refunds).where(eq(tables.refunds.orderId, orderId));
    const refundId = `REF-${orderId}-${earlier.length + 1}`;
    await tx.insert(tables.refunds).values({ id: refundId, orderId, amount });
    const notified = await sender.notify(
      // The refund's own number, never the order's: two refunds of one order are two events.
      { endpoint: merchantId, type: 'refund.success', bizId: refundId, subject: orderId, data: { orderId, amount } },
      { tx },
    );
    return { refundId, notified };
  });
  log(`commits refund ${refundId} (${amount} of order ${orderId}) and its notification in one transaction`);
  onCommit({ id: notified.id, bizId: refundId });
  return { orderId, refundId, notification: notified.id };
}

/** A mistake that platforms make: a fact that was already announced is changed under its old number. */
async function correctPayment({ db, tables, sender, merchantId }: PlatformParts, paymentId: string, amount: string) {
  await sender.transaction(db, async (tx) => {
    const [payment] = await tx
      .update(tables.payments)
      .set({ amount })
      .where(eq(tables.payments.id, paymentId))
      .returning();
    if (payment === undefined) throw new RefusedError(`payment ${paymentId} does not exist`);
    const { orderId } = payment;
    await sender.notify(
      {
        endpoint: merchantId,
        type: 'payment.success',
        bizId: paymentId,
        subject: orderId,
        data: { orderId, amount },
      },
      { tx },
    );
  });
  return { paymentId, amount };
}

function readPayment(req: Request): Payment {
  const { amount = '100.00', coupon } = (req.body ?? {}) as { amount?: unknown; coupon?: unknown };
  if (typeof amount !== 'string' || !/^\d{1,9}\.\d\d$/.test(amount)) {
    throw new RefusedError('amount must be text such as "100.00"');
  }
  return { amount, coupon: typeof coupon === 'string' ? coupon : undefined };
}

function isState(value: unknown): value is NotificationState {
  return (notificationStates as readonly unknown[]).includes(value);
}

function answerErrors({ onConflict }: PlatformParts): ErrorRequestHandler {
  return (error: unknown, _req, res, _next) => {
    if (error instanceof PayloadConflictError) onConflict(error);
    const message = error instanceof Error ? error.message : String(error);
    if (isSenderError(error)) res.status(409).json({ code: error.code, message });
    else if (error instanceof RefusedError) res.status(409).json({ code: 'REFUSED', message });
    else res.status(500).json({ code: 'INTERNAL', message });
  };
}
