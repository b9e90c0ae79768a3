import { Redis } from 'ioredis';
import { findMarkers } from './marker.mjs';

/** Reads along with every command that Redis is given. */
export async function watchRedis(url) {
  const client = new Redis(url);
  const monitor = await client.monitor();
  const found = [];
  let seen = 0;
  monitor.on('monitor', (_time, args) => {
    seen += 1;
    found.push(...findMarkers(args.join(' ')));
  });
  return {
    found: () => found,
    seen: () => seen,
    close() {
      monitor.disconnect();
      client.disconnect();
    },
  };
}
