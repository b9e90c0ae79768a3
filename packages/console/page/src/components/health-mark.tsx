import type { EndpointShape } from '../../../src/shapes.js';
import { formatDuration } from '../format.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { Mark } from './small-parts.tsx';

export type Health = 'held' | 'parked' | 'failing' | 'well' | 'idle';

function healthOf(endpoint: EndpointShape): Health {
  if (endpoint.heldBecause !== null) return 'held';
  if (endpoint.parkedForMs !== null) return 'parked';
  if (endpoint.failures > 0) return 'failing';
  return endpoint.attempts === 0 ? 'idle' : 'well';
}

export function isUnwell(endpoint: EndpointShape): boolean {
  return ['held', 'parked', 'failing'].includes(healthOf(endpoint));
}

const tones: Readonly<Record<Health, string>> = {
  held: 'closed',
  parked: 'dead',
  failing: 'failing',
  well: 'delivered',
  idle: 'cancelled',
};

/** How an endpoint is doing, and why it is not being sent to. */
export function HealthMark({ endpoint }: { endpoint: EndpointShape }) {
  const { t } = useTexts();
  const health = healthOf(endpoint);
  const { parkedForMs, failures, heldBecause } = endpoint;
  const detail = {
    held: heldBecause ?? '',
    parked:
      parkedForMs === null || parkedForMs === 0
        ? t.endpoints.probeDue
        : t.endpoints.parkedFor(formatDuration(parkedForMs, t)),
    failing: t.endpoints.failuresInRow(failures),
    well: '',
    idle: '',
  }[health];
  return (
    <span>
      <Mark tone={tones[health]}>{t.endpoints[health]}</Mark>
      {detail !== '' && <span className="meaning"> {detail}</span>}
    </span>
  );
}
