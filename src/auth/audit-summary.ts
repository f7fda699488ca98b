import { setBounded } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import type { ActorContext, AuditEvent, Store } from "../store/store.ts";

/** Audits events that may come in floods: the first one at once, further ones of an interval in one entry. */
export interface AuditSummary {
  /** `what` names the kind of event within its operation. Never throws. */
  record(event: Pick<AuditEvent, "op" | "resource" | "rowId"> & { what: string }, by: ActorContext): void;
}

/** @source docs/decisions/0485-audit-entries.md */
const INTERVAL_MS = 60_000;
/** Events that are summed up at the same time. What does not fit is counted together, without a source. */
const MAX_KEYS = 200;

interface Open {
  event: Pick<AuditEvent, "op" | "resource" | "rowId"> & { what: string };
  by: ActorContext;
  more: number;
  since: number;
}

/** `onError` receives failed writes. */
export function createAuditSummary(
  store: Pick<Store, "write">,
  clock: Pick<Clock, "now" | "after">,
  onError: (error: unknown) => void,
): AuditSummary {
  const open = new Map<string, Open>();

  function write({ event, by, more, since }: Open, count: number): void {
    const { op, resource, rowId, what } = event;
    const details = { what, count, ...(more > 0 && { since: new Date(since).toISOString() }) };
    store.write((tx) => tx.addAuditEvent({ op, resource, rowId, details }, by)).catch(onError);
  }

  function close(key: string): void {
    const found = open.get(key);
    open.delete(key);
    if (found && found.more > 0) write(found, found.more);
  }

  return {
    record(event, by) {
      const { userId, address } = by.actor;
      const source = [event.op, event.resource, event.what, event.rowId, userId, address].join(" ");
      const isCrowded = !open.has(source) && open.size >= MAX_KEYS;
      const key = isCrowded ? `${event.op} of many` : source;
      const found = open.get(key);
      if (found) {
        found.more += 1;
        return;
      }
      const from = isCrowded ? { ...by, actor: { ...by.actor, userId: null, name: "many", address: null } } : by;
      const started: Open = {
        event: isCrowded ? { ...event, rowId: null } : event,
        by: from,
        more: 0,
        since: clock.now(),
      };
      setBounded(open, key, started, MAX_KEYS + 10);
      write(started, 1);
      clock.after(INTERVAL_MS, () => close(key), { background: true });
    },
  };
}
