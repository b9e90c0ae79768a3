import { useCallback, useSyncExternalStore } from 'react';

/*
 * The place in the page is the part of the address after `#`: nothing on the server has to know it, and the page works
 * wherever it is mounted.
 */

export interface Place {
  /** `notifications`, or `notifications/ntf_…` */
  path: string[];
  query: Record<string, string>;
}

export function usePlace(): Place {
  const hash = useSyncExternalStore(subscribe, () => window.location.hash);
  return placeOf(hash);
}

export function hrefOf(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const search = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`;
}

export function goTo(path: readonly string[], query?: Readonly<Record<string, string | undefined>>): void {
  window.location.hash = hrefOf(path, query);
}

/** Changes the query in place, so that going back leaves the list instead of undoing every letter typed. */
export function useQueryChange(): (change: Readonly<Record<string, string | undefined>>) => void {
  return useCallback((change) => {
    const { path, query } = placeOf(window.location.hash);
    window.history.replaceState(null, '', hrefOf(path, { ...query, ...change }));
    window.dispatchEvent(new HashChangeEvent('hashchange'));
  }, []);
}

function placeOf(hash: string): Place {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  return {
    path: path.split('/').filter(Boolean).map(decode),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function subscribe(onChange: () => void): () => void {
  window.addEventListener('hashchange', onChange);
  return () => window.removeEventListener('hashchange', onChange);
}
