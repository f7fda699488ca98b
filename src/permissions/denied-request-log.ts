import type { Clock } from "../lib/clock.ts";
import type { ActorContext, Store } from "../store/store.ts";

/** Keeps record of what users were refused. */
export interface DeniedRequestLog {
  /** `method` and `at`, the pattern of a path, say what was asked for; `path` is the path itself. Never throws. */
  record(by: ActorContext, what: { method: string; at: string; path: string }): void;
}

/** own choice: the same refusal of the same user is recorded once in this time, so that nobody fills the disk by asking. */
const DEDUPLICATION_MS = 60_000;
/** Refusals remembered; beyond it the oldest is forgotten. */
const MAX_REMEMBERED = 2_000;
/** Longest path that is kept. */
const MAX_PATH_LENGTH = 500;

/** Makes the record; what fails to be written is told to `onError`. */
export function createDeniedRequestLog(
  store: Store,
  clock: Clock,
  onError: (error: unknown) => void,
): DeniedRequestLog {
  const recorded = new Map<string, number>();
  return {
    record(by, { method, at, path }) {
      const key = `${by.actor.userId} ${method} ${at}`;
      const now = clock.monotonicMs();
      const before = recorded.get(key);
      if (before !== undefined && now - before < DEDUPLICATION_MS) return;
      recorded.delete(key);
      const oldest = recorded.size >= MAX_REMEMBERED ? recorded.keys().next().value : undefined;
      if (oldest !== undefined) recorded.delete(oldest);
      recorded.set(key, now);
      const details = { method: method.toUpperCase(), path: path.slice(0, MAX_PATH_LENGTH) };
      const resource = at.split("/").findLast((segment) => !segment.startsWith("{")) ?? at;
      store.write((tx) => tx.addAuditEvent({ op: "refused", resource, rowId: null, details }, by)).catch(onError);
    },
  };
}
