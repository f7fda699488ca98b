import { createContext, useContext, useEffect, useState, useSyncExternalStore } from "react";

/** Something that a page reads. */
export interface PageQuery {
  /** Nothing of it is known yet, and it is being read. */
  isWaiting: boolean;
  /** Why it could not be read; null unless so. */
  error: unknown;
  /** Reads it again. */
  again(): void;
}

/** Loading and error state of a page's queries. */
export interface PageQueriesState {
  isWaiting: boolean;
  broken: readonly PageQuery[];
  /** Faults that no part of the page says itself, each once. */
  unsaid: readonly unknown[];
}

/** Tracks the queries of the page, so that every page shows loading, errors and retry in the same way. */
export interface PageQueries {
  put(key: object, reading: PageQuery): void;
  drop(key: object): void;
  /** A part of the page says this fault itself, until what it gives is called. */
  say(error: unknown): () => void;
  /** The same object until something is another. */
  state(): PageQueriesState;
  subscribe(listener: () => void): () => void;
}

const NOTHING: PageQueriesState = { isWaiting: false, broken: [], unsaid: [] };

/** Makes an empty one. */
export function createPageQueries(): PageQueries {
  const readings = new Map<object, PageQuery>();
  const said = new Map<object, unknown>();
  const listeners = new Set<() => void>();
  let state = NOTHING;
  const changed = (): void => {
    const all = [...readings.values()];
    const broken = all.filter(({ error }) => error);
    const known = new Set(said.values());
    const unsaid = [...new Set(broken.map(({ error }) => error))].filter((error) => !known.has(error));
    state = { isWaiting: all.some(({ isWaiting }) => isWaiting), broken, unsaid };
    for (const listener of listeners) listener();
  };
  return {
    put(key, reading) {
      readings.set(key, reading);
      changed();
    },
    drop(key) {
      if (readings.delete(key)) changed();
    },
    say(error) {
      const key = {};
      said.set(key, error);
      changed();
      return () => {
        said.delete(key);
        changed();
      };
    },
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** Null outside of a page, as in the bar above it. */
export const PageQueriesContext = createContext<PageQueries | null>(null);

/** What of a query of any library says how its reading stands. */
interface Query {
  isLoading: boolean;
  error: unknown;
  refetch(): unknown;
}

/** Counts a query among what the page reads. */
export function useTrackedQuery<Q extends Query>(query: Q): Q {
  const readings = useContext(PageQueriesContext);
  const [key] = useState(() => ({}));
  const { isLoading: isWaiting, error, refetch } = query;
  useEffect(() => {
    readings?.put(key, { isWaiting, error, again: () => void refetch() });
  }, [readings, key, isWaiting, error, refetch]);
  useEffect(() => () => readings?.drop(key), [readings, key]);
  return query;
}

/** State of the queries of this page. */
export function usePageQueries(): PageQueriesState {
  const readings = useContext(PageQueriesContext);
  return useSyncExternalStore(readings?.subscribe ?? never, readings?.state ?? nothing);
}

/** Marks an error as shown by the caller; returns a retry for the failed query, null if there is none. */
export function useReportedError(error: unknown): (() => void) | null {
  const readings = useContext(PageQueriesContext);
  const { broken } = usePageQueries();
  useEffect(() => (error && readings ? readings.say(error) : undefined), [readings, error]);
  const those = error ? broken.filter((each) => each.error === error) : [];
  if (those.length === 0) return null;
  return () => {
    for (const { again } of those) again();
  };
}

const never = () => () => undefined;
const nothing = () => NOTHING;
