import type { Clock } from "../base/clock.ts";
import type { By, Store } from "../store/store.ts";

/** Keeps record of what users were refused. */
export interface Refusals {
  /** `method` and `at`, the pattern of a path, say what was asked for; `path` is the path itself. Never throws. */
  record(by: By, what: { method: string; at: string; path: string }): void;
}

/** own choice: the same refusal of the same user is recorded once in this time, so that nobody fills the disk by asking. */
const ONCE_PER_MS = 60_000;
/** Refusals remembered; beyond it the oldest is forgotten. */
const MOST_KEPT = 2_000;
/** Longest path that is kept. */
const MOST_PATH = 500;

/** Makes the record; what fails to be written is told to `onError`. */
export function createRefusals(store: Store, clock: Clock, onError: (error: unknown) => void): Refusals {
  const recorded = new Map<string, number>();
  return {
    record(by, { method, at, path }) {
      const key = `${by.actor.userId} ${method} ${at}`;
      const now = clock.monotonicMs();
      const before = recorded.get(key);
      if (before !== undefined && now - before < ONCE_PER_MS) return;
      recorded.delete(key);
      const oldest = recorded.size >= MOST_KEPT ? recorded.keys().next().value : undefined;
      if (oldest !== undefined) recorded.delete(oldest);
      recorded.set(key, now);
      const details = { method: method.toUpperCase(), path: path.slice(0, MOST_PATH) };
      const resource = at.split("/").findLast((segment) => !segment.startsWith("{")) ?? at;
      store.write((tx) => tx.note({ op: "refused", resource, rowId: null, details }, by)).catch(onError);
    },
  };
}
