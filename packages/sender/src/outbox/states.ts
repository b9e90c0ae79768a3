/** Where a notification stands. Claimed, held and parked are separate facts. */
export type NotificationState = 'pending' | 'delivered' | 'dead' | 'cancelled' | 'closed';

/** The states in the order of their numbers in the table. */
export const notificationStates: readonly NotificationState[] = ['pending', 'delivered', 'dead', 'cancelled', 'closed'];

/** The number of a state in the table. */
export function stateNumber(state: NotificationState): number {
  return notificationStates.indexOf(state);
}

/** @throws RangeError for a number no release has written. */
export function stateOf(number: number): NotificationState {
  const state = notificationStates[number];
  if (state === undefined) throw new RangeError(`state ${number} is not known`);
  return state;
}
