import { createContext, useContext } from 'react';
import type { SessionShape } from '../../src/shapes.js';

export const SessionContext = createContext<SessionShape | undefined>(undefined);

/** Who is signed in, and what they may do. */
export function useSession(): SessionShape & { canAct: boolean } {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('used outside of a session');
  return { ...session, canAct: session.role === 'operator' };
}
