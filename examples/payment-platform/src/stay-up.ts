import type { Stage } from './stage.js';

/** After the story: says what can be tried, and resolves when the user stops the demo. */
export async function stayUp(stage: Stage, stopped: Promise<unknown>): Promise<void> {
  const { timeline, platform, merchantServer } = stage;
  const { url } = platform;
  const json = `-H 'content-type: application/json'`;
  const offer = (what: string, how: string) => timeline.plain(`  ${what.padEnd(27)}${how}`);
  timeline.title('Both sides stay up. Try, from another terminal:');
  offer('pay an order', `curl -X POST ${url}/orders/B1/pay`);
  offer('refund a part of it', `curl -X POST ${url}/orders/B1/refunds ${json} -d '{"amount":"5.00"}'`);
  offer('list notifications', `curl ${url}/notifications`);
  offer('find one', `curl '${url}/notifications?bizId=PAY-B1'`);
  offer('see its attempts', `curl ${url}/notifications/<id>`);
  offer('resend it', `curl -X POST ${url}/notifications/<id>/resend`);
  offer("read the merchant's books", `curl ${merchantServer.url}/orders`);
  const stopListening = process.stdin.isTTY ? listenForEnter(stage) : () => undefined;
  timeline.plain('  Ctrl-C stops both and removes what they wrote.\n');
  await stopped;
  stopListening();
}

/** Enter takes the merchant down, and up again. */
function listenForEnter({ timeline, merchantServer }: Stage): () => void {
  timeline.plain('  Enter, in this terminal, takes the merchant down; Enter again brings it back.');
  const toggle = () => {
    const change = merchantServer.isUp ? merchantServer.goDown() : merchantServer.goUp();
    change.then(
      () => timeline.does('merchant', merchantServer.isUp ? 'is back' : 'is down'),
      (error: unknown) => timeline.does('merchant', `cannot come back: ${String(error)}`),
    );
  };
  process.stdin.on('data', toggle);
  return () => {
    process.stdin.off('data', toggle).pause();
  };
}
