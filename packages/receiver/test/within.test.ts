import { StoreTimeoutError } from '@bestnotify/receiver';
import { expect, test } from 'vitest';
import { within } from '../src/within.ts';

test('a store that does not answer ends in an error that says what to look at', async () => {
  const silent = within(new Promise<never>(() => undefined), 20, 'acquire');
  await expect(silent).rejects.toBeInstanceOf(StoreTimeoutError);
  await expect(silent).rejects.toThrow(
    'did not answer acquire within 20 ms. Is the Redis or the database behind it running and reachable?',
  );
});
