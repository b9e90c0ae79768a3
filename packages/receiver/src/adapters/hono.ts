import type { Receiver } from '../receiver.js';
import { fetchHandler } from './fetch.js';

/** For `app.all(path, honoHandler(receiver))`: `all`, so that another method gets the receiver's own 405. */
export function honoHandler(receiver: Receiver): (context: { req: { raw: Request } }) => Promise<Response> {
  const handle = fetchHandler(receiver);
  return (context) => handle(context.req.raw);
}
