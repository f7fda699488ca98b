import type { Clock, Timer } from "../../lib/clock.ts";
import type { Events } from "../../lib/events.ts";

/** A changed row; a hint to reload it. */
export interface ChangedRow {
  /** Name of the declaration. */
  resource: string;
  id: string;
  op: "create" | "update" | "delete";
}

/** Changes within a batch interval, in order of the first change of each row. */
export interface ChangeBatch {
  /** The newest position in the change feed that these changes belong to. */
  seq: number;
  changes: readonly ChangedRow[];
}

/** Dependencies of the broadcaster. */
export interface ChangeBroadcasterDeps {
  events: Events;
  clock: Clock;
  /** Position in the change feed at the start. */
  seq: number;
  /** Rows that show how a plugin is. */
  rowsOfPlugin(plugin: string): readonly Pick<ChangedRow, "resource" | "id">[];
  onBatch(fold: ChangeBatch): void;
}

/** Collects changes. */
interface ChangeBroadcaster {
  /** Position in the change feed up to which changes were reported or are pending. */
  readonly seq: number;
  /**
   * Changes outside the change feed since a position, oldest first, including those at the position itself. Null if
   * they are no longer known or the position is older than the start.
   */
  unsequencedSince(seq: number): ChangedRow[] | null;
  stop(): void;
}

/** Pseudo resource of the cloud link; clients reload `GET /link`. */
const LINK = "link";
/** Pseudo resource of replanned rings; clients reload `GET /bell-rings`. */
const NEXT_RINGS = "bell-rings";
/** Pseudo resources, reported to every authenticated subscriber; access is checked when they are reloaded. */
export const ROWLESS_CHANGES: ReadonlySet<string> = new Set([LINK, NEXT_RINGS]);

/** Placeholder id for unspecified rows. */
export const ANY_ROW = "*";

/** Maximum number of remembered changes outside the change feed. */
const MAX_UNSEQUENCED_CHANGES = 2_000;

/** So long changes are collected, so that many changes of one row are one. */
const BATCH_MS = 100;

/**
 * Collects row changes from events. Deliveries and activities are append-only and not in the change feed: they are
 * reported by the id of their notification, the cloud link by that of the appliance, the next rings by `*`.
 */
export function createChangeBroadcaster({
  events,
  clock,
  seq,
  rowsOfPlugin,
  onBatch,
}: ChangeBroadcasterDeps): ChangeBroadcaster {
  let newest = seq;
  let pending = new Map<string, ChangedRow>();
  let timer: Timer | null = null;
  /** With the feed position of the last report, oldest first. */
  const unsequenced = new Map<string, { change: ChangedRow; at: number }>();
  /** Changes outside the feed are incomplete up to this position. */
  let evictedUpTo = seq;

  const flush = (): void => {
    timer = null;
    const changes = [...pending.values()];
    pending = new Map();
    onBatch({ seq: newest, changes });
  };
  const add = (resource: string, id: string, op: ChangedRow["op"] = "update"): void => {
    const key = `${resource}/${id}`;
    const before = pending.get(key);
    pending.set(key, { resource, id, op: before?.op === "create" && op === "update" ? "create" : op });
    timer ??= clock.after(BATCH_MS, flush, { background: true });
  };
  const addUnsequenced = (resource: string, id: string): void => {
    add(resource, id);
    const key = `${resource}/${id}`;
    unsequenced.delete(key);
    unsequenced.set(key, { change: { resource, id, op: "update" }, at: newest });
    const [oldest] = unsequenced;
    if (unsequenced.size <= MAX_UNSEQUENCED_CHANGES || !oldest) return;
    unsequenced.delete(oldest[0]);
    evictedUpTo = Math.max(evictedUpTo, oldest[1].at);
  };
  const unsubscribe = [
    events.on("row.changed", (change) => {
      newest = Math.max(newest, change.seq);
      add(change.resource, change.id, change.op);
    }),
    ...(["notification.accepted", "notification.stopped", "notification.settled"] as const).map((name) =>
      events.on(name, ({ notificationId }) => addUnsequenced("notifications", notificationId)),
    ),
    events.on("deliveries.changed", ({ notificationId }) => addUnsequenced("deliveries", notificationId)),
    events.on("notification.activity-added", ({ notificationId }) =>
      addUnsequenced("notification-activities", notificationId),
    ),
    events.on("link.changed", ({ endpointId }) => addUnsequenced(LINK, endpointId)),
    events.on("rings.planned", () => addUnsequenced(NEXT_RINGS, ANY_ROW)),
    events.on("plugin.changed", ({ plugin }) => {
      for (const { resource, id } of rowsOfPlugin(plugin)) addUnsequenced(resource, id);
    }),
  ];
  return {
    get seq() {
      return newest;
    },
    unsequencedSince(since) {
      if (since <= evictedUpTo) return null;
      return [...unsequenced.values()].filter(({ at }) => at >= since).map(({ change }) => change);
    },
    stop() {
      timer?.cancel();
      for (const unsubscribeOne of unsubscribe) unsubscribeOne();
    },
  };
}
