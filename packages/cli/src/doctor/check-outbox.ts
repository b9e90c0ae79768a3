import type { Sender } from '@bestnotify/sender';
import { describeError, type Finding } from './finding.js';

const lateMs = 60_000;

/** Whether somebody sends, and what waits for a person. */
export async function checkOutbox(sender: Sender): Promise<Finding[]> {
  try {
    const { due, dead, heldEndpoints, parkedEndpoints, oldestDueMs } = await sender.operations.stats();
    const late = Math.round(oldestDueMs / 1000);
    const findings: Finding[] = [
      oldestDueMs > lateMs
        ? {
            check: 'outbox',
            result: 'warn',
            message: `${due} due, the oldest for ${late} s`,
            next:
              heldEndpoints > 0
                ? 'Is it for a held endpoint? If not, start workers: bestnotify work.'
                : 'Start workers: bestnotify work.',
          }
        : { check: 'outbox', result: 'ok', message: `${due} due` },
    ];
    if (dead > 0) {
      findings.push({
        check: 'outbox',
        result: 'warn',
        message: `${dead} dead`,
        next: 'See bestnotify list --state dead.',
      });
    }
    if (heldEndpoints + parkedEndpoints > 0) {
      const message = `${heldEndpoints} endpoints held, ${parkedEndpoints} parked`;
      findings.push({ check: 'outbox', result: 'warn', message, next: 'See bestnotify endpoints list.' });
    }
    return findings;
  } catch (error) {
    return [{ check: 'outbox', result: 'fail', message: describeError(error), next: 'Mend what is said above first.' }];
  }
}
