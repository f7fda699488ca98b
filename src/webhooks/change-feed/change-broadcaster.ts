import type { Clock, Timer } from "../../lib/clock.ts";
import type { Events } from "../../lib/events.ts";

/** One row that is not what it was: a hint to read it anew. */
export interface ChangedRow {
  /** Name of the declaration. */
  resource: string;
  id: string;
  op: "create" | "update" | "delete";
}

/** What changed within a moment, in order of the first change of each row. */
export interface ChangeBatch {
  /** The newest position in the change feed that these changes belong to. */
  seq: number;
  changes: readonly ChangedRow[];
}

/** What a hub is made of. */
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
  /** Position in the change feed up to which all has been told or is about to be. */
  readonly seq: number;
  /**
   * What was told since a position of that which the change feed passes over, oldest first; also what was told at the
   * position itself, since it does not move by it. Null when that is not known any more, or was before the start.
   */
  unsequencedSince(seq: number): ChangedRow[] | null;
  stop(): void;
}

/** What is told of the link to the cloud, which is no row: `GET /link` is read anew. */
const LINK = "link";
/** What is told when the next rings were planned anew, which are no rows either: `GET /bell-rings` is read anew. */
const NEXT_RINGS = "bell-rings";
/** These are told to whoever is logged in; what each may see of them is told by their paths. */
export const ROWLESS_CHANGES: ReadonlySet<string> = new Set([LINK, NEXT_RINGS]);

/** Stands for the id of a row that nobody names. */
export const ANY_ROW = "*";

/** So many rows are remembered of which the change feed does not know that they changed. own choice */
const MAX_UNSEQUENCED_CHANGES = 2_000;

/** So long changes are collected, so that many changes of one row are one. */
const BATCH_MS = 100;

/**
 * Collects what the events tell of changed rows. Deliveries and diaries are facts, which the change feed passes over:
 * theirs are told by the id of their notification, the link to the cloud by that of the appliance, the next rings by `*`.
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
  /** With the position at which each was last told, oldest first. */
  const passedOver = new Map<string, { change: ChangedRow; at: number }>();
  /** Nothing that was told up to here is known for sure. */
  let forgotten = seq;

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
    passedOver.delete(key);
    passedOver.set(key, { change: { resource, id, op: "update" }, at: newest });
    const [oldest] = passedOver;
    if (passedOver.size <= MAX_UNSEQUENCED_CHANGES || !oldest) return;
    passedOver.delete(oldest[0]);
    forgotten = Math.max(forgotten, oldest[1].at);
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
      if (since <= forgotten) return null;
      return [...passedOver.values()].filter(({ at }) => at >= since).map(({ change }) => change);
    },
    stop() {
      timer?.cancel();
      for (const off of unsubscribe) off();
    },
  };
}
