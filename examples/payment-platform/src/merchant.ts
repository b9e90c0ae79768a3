import { createReceiver, type Notification, type Receiver, type Store } from '@bestnotify/receiver';
import express, { type Express } from 'express';

/** What the merchant knows of one of its orders. */
export interface BookedOrder {
  paid: string[];
  refunded: string[];
}

/** The merchant's books: what its handlers have really done. */
export interface Books {
  readonly orders: ReadonlyMap<string, BookedOrder>;
  /** One entry each time a handler took effect, in order; a business event that took effect twice is in it twice. */
  readonly effects: readonly { type: string; bizId: string }[];
}

export interface Merchant {
  /** Serves `POST /notify` and, for the curious, `GET /orders`. */
  app: Express;
  receiver: Receiver;
  books: Books;
  /** The first release has a bug: it cannot book a payment with a coupon. This deploys the fix. */
  deployFix(): void;
}

export interface MerchantParts {
  /** The platform whose notifications are taken. */
  source: string;
  /** Who this merchant is to that platform. */
  merchantId: string;
  secret: string;
  store: Store;
  log: (line: string) => void;
}

/** A merchant: one receiver, one handler per event type, one route. Signatures, repeats and replies are the receiver's business. */
export function createMerchant({ source, merchantId, secret, store, log }: MerchantParts): Merchant {
  const orders = new Map<string, BookedOrder>();
  const effects: { type: string; bizId: string }[] = [];
  let hasFix = false;

  const receiver = createReceiver({ source, to: merchantId, secrets: secret, store });
  receiver.on('payment.success', (notification) => {
    const { orderId, amount, coupon } = readData(notification);
    if (coupon !== undefined && !hasFix) throw new Error('coupons are not booked yet');
    orderOf(orders, orderId).paid.push(amount);
    effects.push(notification);
    log(`books ${amount} as paid for order ${orderId}`);
  });
  receiver.on('refund.success', (notification) => {
    const { orderId, amount } = readData(notification);
    orderOf(orders, orderId).refunded.push(amount);
    effects.push(notification);
    log(`books ${amount} as refunded for order ${orderId}`);
  });

  const app = express();
  app.post('/notify', receiver.express()); // before any body parser: the signature covers the raw bytes
  app.use(express.json());
  app.get('/orders', (_req, res) => void res.json(Object.fromEntries(orders)));
  return { app, receiver, books: { orders, effects }, deployFix: () => (hasFix = true) };
}

/** A signature says who wrote it, not what shape it has: check before use. */
function readData({ data }: Notification): { orderId: string; amount: string; coupon: string | undefined } {
  const { orderId, amount, coupon } = data as Partial<Record<string, unknown>>;
  if (typeof orderId !== 'string' || typeof amount !== 'string') throw new Error('orderId or amount is missing');
  return { orderId, amount, coupon: typeof coupon === 'string' ? coupon : undefined };
}

function orderOf(orders: Map<string, BookedOrder>, orderId: string): BookedOrder {
  const known = orders.get(orderId);
  if (known !== undefined) return known;
  const fresh: BookedOrder = { paid: [], refunded: [] };
  orders.set(orderId, fresh);
  return fresh;
}
