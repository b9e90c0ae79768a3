import { Paper, Text } from '@mantine/core';
import type { AttemptShape, DetailsShape } from '../../../src/shapes.js';
import { addressOf } from '../api-client.ts';
import { bytesOf, textOf, visibleText } from '../bytes.ts';
import { formatDuration, formatMoment } from '../format.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { useSession } from '../use-session.tsx';
import { Mark, Reason, When } from './small-parts.tsx';

const tones: Readonly<Record<string, string>> = {
  acknowledged: 'delivered',
  refused: 'dead',
  'no-answer': 'dead',
  'not-sent': 'dead',
};

/** What has happened so far, newest first, and what comes next. */
export function Timeline({ details }: { details: DetailsShape }) {
  const { t } = useTexts();
  const attempts = details.attemptLog.map((attempt, index) => ({ attempt, number: index + 1 })).reverse();
  return (
    <Paper withBorder p="sm" component="section" aria-label={t.notification.timeline}>
      <Text size="sm" fw={500} component="h2" mb="xs">
        {t.notification.timeline}
      </Text>
      <ol className="timeline">
        {details.state === 'pending' && (
          <li data-tone="pending">
            <div className="timeline-head">
              <strong>{details.isClaimed ? t.notification.claimed : t.notification.nextAttempt}</strong>
              {!details.isClaimed && <When at={details.dueAt} />}
            </div>
          </li>
        )}
        {attempts.length === 0 && details.state !== 'pending' && <li>{t.notification.noAttempts}</li>}
        {attempts.map(({ attempt, number }) => (
          <Attempt key={number} {...{ details, attempt, number }} />
        ))}
      </ol>
    </Paper>
  );
}

function Attempt({ details, attempt, number }: { details: DetailsShape; attempt: AttemptShape; number: number }) {
  const { t, language } = useTexts();
  const tone = tones[attempt.outcome] ?? 'cancelled';
  const name = attempt.ordinal === null ? t.notification.uncharged : t.notification.attempt(attempt.ordinal);
  return (
    <li data-tone={tone}>
      <div className="timeline-head">
        <strong>
          {details.round > 1 && `${t.notification.round(attempt.round)} · `}
          {name}
        </strong>
        <Mark tone={tone}>
          {Object.hasOwn(t.outcomes, attempt.outcome) ? t.outcomes[attempt.outcome] : attempt.outcome}
        </Mark>
        {attempt.status !== null && (
          <span>
            {t.notification.httpStatus} <b>{attempt.status}</b>
          </span>
        )}
        <span>{formatDuration(attempt.durationMs, t)}</span>
        <span className="meaning" title={formatMoment(attempt.startedAt, language)}>
          <When at={attempt.startedAt} />
        </span>
      </div>
      <div className="timeline-body">
        <Reason reason={attempt.because} />
        {attempt.hint !== null && (
          <p className="hint">
            <b>{t.notification.hint}</b> <bdi>{attempt.hint}</bdi>
          </p>
        )}
        {attempt.error !== null && (
          <p className="meaning">
            {t.notification.error}: <bdi>{visibleText(attempt.error)}</bdi>
          </p>
        )}
        <Reply {...{ details, attempt, number }} />
        {attempt.url !== details.url && (
          <p className="meaning mono url">
            <bdi>{attempt.url}</bdi>
          </p>
        )}
      </div>
    </li>
  );
}

/** The beginning of the reply, as text and nothing else. */
function Reply({ details, attempt, number }: { details: DetailsShape; attempt: AttemptShape; number: number }) {
  const { t } = useTexts();
  const { role } = useSession();
  if (attempt.status === null) return null;
  if (role === 'viewer') return <p className="meaning">{t.notification.replyHidden}</p>;
  if (attempt.snippetBase64 === null || attempt.snippetBase64 === '')
    return <p className="meaning">{t.notification.emptyReply}</p>;
  return (
    <div className="reply">
      <pre className="code" tabIndex={0} aria-label={t.notification.reply}>
        {visibleText(textOf(bytesOf(attempt.snippetBase64)))}
      </pre>
      <a href={addressOf(`notifications/${details.id}/replies/${number}`)} download>
        {t.common.download}
      </a>
    </div>
  );
}
