import { isSenderError, type SenderErrorCode } from '@bestnotify/sender';
import { BadInput, refuse, type Answer, type Refusal } from './answer.js';

const statuses: Partial<Record<SenderErrorCode, [number, Refusal['error']]>> = {
  SENDER_UNKNOWN_NOTIFICATION: [404, 'not-found'],
  SENDER_UNKNOWN_ENDPOINT: [404, 'not-found'],
  SENDER_ILLEGAL_STATE: [409, 'conflict'],
  SENDER_DUPLICATE_EFFECT: [409, 'conflict'],
  SENDER_SECRET_IN_USE: [409, 'conflict'],
  SENDER_CONFIGURATION: [400, 'bad-input'],
  SENDER_ENDPOINT_URL: [400, 'bad-input'],
  SENDER_NOTIFICATION_REFUSED: [400, 'bad-input'],
  SENDER_DATABASE_TIMEOUT: [503, 'unavailable'],
};

/** What the sender refused, as a status and facts. Anything unforeseen says nothing of itself, and is handed to `onError`. */
export function answerError(error: unknown, onError: (error: unknown) => void): Answer {
  if (error instanceof BadInput) return refuse(error.status, error.refusal);
  if (isSenderError(error)) {
    const [status, kind] = statuses[error.code] ?? [];
    if (status !== undefined && kind !== undefined) {
      const { state, isClaimed } = error as { state?: string; isClaimed?: boolean };
      return refuse(status, {
        error: kind,
        message: error.message,
        code: error.code,
        ...(state !== undefined && { state, isClaimed }),
      });
    }
  }
  onError(error);
  return refuse(500, { error: 'internal', message: 'Something went wrong here; the log of this process says what.' });
}
