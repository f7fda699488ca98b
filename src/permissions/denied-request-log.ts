import { setBounded } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import type { ActorContext, Store } from "../store/store.ts";

/** Audits requests that failed the permission check. */
export interface DeniedRequestLog {
  /** `at` is the route pattern, `path` the concrete path. Never throws. */
  record(by: ActorContext, request: { method: string; at: string; path: string }): void;
}

/** The same refusal of the same user is recorded once per interval, so that repeated requests cannot fill the disk. */
const DEDUPLICATION_MS = 60_000;
/** Maximum number of refusals tracked for deduplication; the oldest is evicted. */
const MAX_REMEMBERED = 2_000;
/** Stored paths are cut to this length. */
const MAX_PATH_LENGTH = 500;

/** Creates the log; `onError` receives failed writes. */
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
      setBounded(recorded, key, now, MAX_REMEMBERED);
      const details = { method: method.toUpperCase(), path: path.slice(0, MAX_PATH_LENGTH) };
      const resource = at.split("/").findLast((segment) => !segment.startsWith("{")) ?? at;
      store.write((tx) => tx.addAuditEvent({ op: "refused", resource, rowId: null, details }, by)).catch(onError);
    },
  };
}
