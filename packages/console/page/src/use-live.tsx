import { createContext, useContext, useEffect, useState, type ReactNode } from 'react';
import { useLocalStorage } from '@mantine/hooks';

interface Live {
  isLive: boolean;
  setLive: (isLive: boolean) => void;
  /** What react-query is told: how often to ask again, in ms. */
  refetchInterval: number | false;
}

const everyMs = 5_000;
const Context = createContext<Live>({ isLive: true, setLive: () => undefined, refetchInterval: everyMs });

export function LiveProvider({ children }: { children: ReactNode }) {
  const [isLive, setLive] = useLocalStorage({
    key: 'bestnotify-live',
    defaultValue: true,
    getInitialValueInEffect: false,
  });
  return <Context value={{ isLive, setLive, refetchInterval: isLive ? everyMs : false }}>{children}</Context>;
}

export function useLive(): Live {
  return useContext(Context);
}

/** The time now, new each second: for the words that say how long ago. */
export function useNow(): number {
  const [nowMs, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return nowMs;
}
