import type { AccessControl, Principal } from "../../auth/principal.ts";
import type { Clock } from "../../lib/clock.ts";
import { TooManyRequestsError } from "../../lib/errors.ts";
import type { Events } from "../../lib/events.ts";
import type { Log } from "../../lib/log.ts";
import userTokens from "../../resources/people/user-tokens.ts";
import users from "../../resources/people/users.ts";
import type { Catalogue } from "../../schema/catalogue.ts";
import type { AccessScope, StoreReader } from "../../store/store.ts";
import {
  type ChangeBatch,
  type ChangeBroadcasterDeps,
  type ChangedRow,
  createChangeBroadcaster,
} from "./change-broadcaster.ts";
import { visibleChanges } from "./visible-changes.ts";

/** Dependencies of the change feed. */
export interface ChangeFeedDeps extends Pick<ChangeBroadcasterDeps, "rowsOfPlugin"> {
  reader: StoreReader;
  access: AccessControl;
  catalogue: Catalogue;
  clock: Clock;
  events: Events;
  log: Log;
}

/** A subscriber, independent of the transport. */
export interface ChangeSubscriber {
  principal: Principal;
  /** Acting domain; null for the user's first one. */
  domainId: string | null;
  /** Visible changes, at most every 100 ms; subscribers with the same scope share the array. */
  onChanges(seq: number, changes: readonly ChangedRow[]): void;
  /** Every 5 s, with the newest position. */
  onHeartbeat(seq: number): void;
  /** Last call: the token is no longer valid, or the subscriber may no longer act in the domain. */
  onEnd(): void;
}

/** Initial state of a subscription. */
export interface ChangeSubscription {
  /** Position up to which all is known now. */
  seq: number;
  /** Changes since the requested position; null if there are too many or the position is unknown. */
  missed: readonly ChangedRow[] | null;
  unsubscribe(): void;
}

/** Publishes changes to many subscribers with one evaluation per access scope. */
export interface ChangeFeed {
  /** Throws TooManyRequests when there are too many followers already. */
  assertCapacity(principal: Principal): void;
  /** Starts a subscription; `since` is the last known position, null for none. */
  subscribe(subscriber: ChangeSubscriber, since: number | null): ChangeSubscription;
  stop(): void;
}

/** Followers at once, in all and of one user. */
const MAX_SUBSCRIBERS = 500;
const MAX_SUBSCRIBERS_PER_USER = 50;
/** Above this number a subscriber must reload everything. */
const MAX_MISSED_CHANGES = 2_000;
const HEARTBEAT_MS = 5_000;

/** Starts the feed. */
export function createChangeFeed(deps: ChangeFeedDeps): ChangeFeed {
  const { reader, access, clock, events, log } = deps;
  const subscribers = new Set<ChangeSubscriber>();
  const broadcaster = createChangeBroadcaster({
    ...deps,
    seq: newestSeq(reader),
    onBatch: (batch) => guarded(() => publish(batch)),
  });

  /** A failure of the feed must not stop the process that rings bells. */
  function guarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      log.error({ event: "change_feed.failed", err: error }, "change feed failed");
    }
  }

  /** Null if the subscriber may no longer act in its domain; it is removed then. */
  function scopeOf(subscriber: ChangeSubscriber): AccessScope | null {
    try {
      return access.resolveScope(subscriber.principal, subscriber.domainId);
    } catch {
      end(subscriber);
      return null;
    }
  }

  function end(subscriber: ChangeSubscriber): void {
    if (subscribers.delete(subscriber)) subscriber.onEnd();
  }

  function publish({ seq, changes }: ChangeBatch): void {
    const changesByScope = new Map<AccessScope, ChangedRow[]>();
    for (const subscriber of subscribers) {
      const scope = scopeOf(subscriber);
      if (!scope) continue;
      const visible = changesByScope.get(scope) ?? visibleChanges(changes, scope, deps);
      changesByScope.set(scope, visible);
      if (visible.length > 0) subscriber.onChanges(seq, visible);
    }
  }

  function endUnlessValid(subscriber: ChangeSubscriber): boolean {
    if (access.isStillValid(subscriber.principal)) return true;
    end(subscriber);
    return false;
  }

  const heartbeat = clock.every(HEARTBEAT_MS, () =>
    guarded(() => {
      for (const subscriber of subscribers) if (endUnlessValid(subscriber)) subscriber.onHeartbeat(broadcaster.seq);
    }),
  );
  const stopWatching = events.on("row.changed", ({ resource, id, op }) => {
    if (op === "create" || (resource !== userTokens.name && resource !== users.name)) return;
    for (const subscriber of subscribers) {
      const { tokenId, userId } = subscriber.principal;
      if (tokenId === id || userId === id) endUnlessValid(subscriber);
    }
  });

  function missedSince(since: number): ChangedRow[] | null {
    const unsequenced = broadcaster.unsequencedSince(since);
    const changed = unsequenced && changesAfter(reader, since);
    if (!changed) return null;
    const known = new Set(changed.map(({ resource, id }) => `${resource}/${id}`));
    return [...changed, ...unsequenced.filter(({ resource, id }) => !known.has(`${resource}/${id}`))];
  }

  return {
    assertCapacity({ userId }) {
      const ofUser = [...subscribers].filter(({ principal }) => principal.userId === userId);
      if (subscribers.size >= MAX_SUBSCRIBERS || ofUser.length >= MAX_SUBSCRIBERS_PER_USER)
        throw new TooManyRequestsError(HEARTBEAT_MS / 1_000);
    },
    subscribe(subscriber, since) {
      const seq = Math.max(broadcaster.seq, newestSeq(reader));
      subscribers.add(subscriber);
      const unsubscribe = (): void => void subscribers.delete(subscriber);
      if (since === null) return { seq, missed: [], unsubscribe };
      const missed = since > seq ? null : missedSince(since);
      const scope = missed && scopeOf(subscriber);
      return { seq, missed: missed && scope ? visibleChanges(missed, scope, deps) : null, unsubscribe };
    },
    stop() {
      heartbeat.cancel();
      stopWatching();
      broadcaster.stop();
      subscribers.clear();
    },
  };
}

function newestSeq(reader: StoreReader): number {
  return reader.one<{ seq: number | null }>("SELECT max(seq) AS seq FROM changes")?.seq ?? 0;
}

/** The newest change of each row after a position, oldest first; null when there are too many. */
function changesAfter(reader: StoreReader, since: number): ChangedRow[] | null {
  const rows = reader.all<{ type: string; row_id: string; op: ChangedRow["op"] }>(
    "SELECT type, row_id, op FROM changes WHERE seq > ? ORDER BY seq LIMIT ?",
    since,
    MAX_MISSED_CHANGES + 1,
  );
  return rows.length > MAX_MISSED_CHANGES
    ? null
    : rows.map(({ type, row_id, op }) => ({ resource: type, id: row_id, op }));
}
