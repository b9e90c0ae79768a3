import type { EndpointHealth } from '@bestnotify/sender';
import { BadInput, json, type Answer } from '../answer.js';
import { describeUrl } from '../describe-url.js';
import { numberMember, onlyMembers, textMember } from '../read-input.js';
import type { EndpointShape, RotatedShape } from '../shapes.js';
import { actionOf, limitsOf, type Call } from './call.js';

/** A page of endpoints with how they are doing; `endpoint` asks for one. */
export async function listEndpoints(call: Call): Promise<Answer> {
  onlyMembers(call.input, ['after', 'limit']);
  const after = textMember(call.input, 'after');
  const limit = numberMember(call.input, 'limit', { min: 1, max: 200 }) ?? 50;
  const page = await call.options.sender.operations.endpointHealth({
    ...limitsOf(call),
    limit: Math.floor(limit),
    ...(after !== undefined && { after }),
  });
  return json({ items: page.items.map(shapeOf), next: page.next });
}

export async function showEndpoint(call: Call): Promise<Answer> {
  return json(shapeOf(await find(call)));
}

/** Keeps an endpoint's notifications from being sent. */
export async function hold(call: Call): Promise<Answer> {
  onlyMembers(call.input, ['note']);
  await call.options.sender.operations.holdEndpoint(call.id, action(call));
  return showEndpoint(call);
}

/** Sends an endpoint's notifications again. */
export async function resume(call: Call): Promise<Answer> {
  onlyMembers(call.input, ['note']);
  await call.options.sender.operations.resumeEndpoint(call.id, action(call));
  return showEndpoint(call);
}

/** Gives an endpoint a new secret: the one answer of the console that holds one. */
export async function rotateSecret(call: Call): Promise<Answer> {
  onlyMembers(call.input, ['note', 'overlapHours']);
  const overlapHours = numberMember(call.input, 'overlapHours', { min: 0, max: 8760 });
  const rotated: RotatedShape = await call.options.sender.operations.rotateSecret(call.id, {
    ...action(call),
    ...(overlapHours !== undefined && { overlapHours }),
  });
  return json(rotated);
}

/** Sends a test notification to this endpoint and no other. */
export async function testSend(call: Call): Promise<Answer> {
  onlyMembers(call.input, ['note']);
  return json({ id: await call.options.sender.operations.testSend(call.id, action(call)) });
}

function action(call: Call) {
  return actionOf(call, textMember(call.input, 'note'));
}

async function find(call: Call): Promise<EndpointHealth> {
  const { endpoints } = call.access;
  const isAllowed = endpoints?.includes(call.id) !== false;
  const page = isAllowed ? await call.options.sender.operations.endpointHealth({ endpoints: [call.id] }) : undefined;
  const endpoint = page?.items[0];
  if (endpoint === undefined) throw new BadInput(`Endpoint ${call.id.slice(0, 128)} does not exist.`, 404, 'not-found');
  return endpoint;
}

/** Named one by one: a new member of an endpoint does not get out by itself. */
function shapeOf(endpoint: EndpointHealth): EndpointShape {
  const { id, ack, profile, policy, maxAttempts, maxInFlight, maxInFlightEverywhere, maxPerSecond, owner } = endpoint;
  const { heldBecause, parkedForMs, failures, inFlight, due, pending, attempts, acknowledged, p50Ms, p95Ms } = endpoint;
  return {
    ...{ id, ack, profile, policy, maxAttempts, maxInFlight, maxInFlightEverywhere, maxPerSecond, owner },
    ...{ heldBecause, parkedForMs, failures, inFlight, due, pending, attempts, acknowledged, p50Ms, p95Ms },
    url: endpoint.url === null ? null : describeUrl(endpoint.url),
    secrets: endpoint.secrets.map((secret) => ({ id: secret.id, fingerprint: secret.fingerprint })),
    lastAttemptAt: endpoint.lastAttemptAt?.toISOString() ?? null,
  };
}
