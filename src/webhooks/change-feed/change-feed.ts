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

/** What the feed is made of. */
export interface ChangeFeedDeps extends Pick<ChangeBroadcasterDeps, "rowsOfPlugin"> {
  reader: StoreReader;
  access: AccessControl;
  catalogue: Catalogue;
  clock: Clock;
  events: Events;
  log: Log;
}

/** Somebody who is told of changes, however it is carried to them. */
export interface ChangeSubscriber {
  principal: Principal;
  /** Acting domain; null for the user's first one. */
  domainId: string | null;
  /** What the follower may know of, at most every 100 ms; the same list for all with the same rights. */
  onChanges(seq: number, changes: readonly ChangedRow[]): void;
  /** Every 5 s, with the newest position. */
  onHeartbeat(seq: number): void;
  /** The last call: the token is no longer good, or the follower may no longer act there. */
  onEnd(): void;
}

/** What a new follower needs to know first. */
export interface ChangeSubscription {
  /** Position up to which all is known now. */
  seq: number;
  /** What changed since the position asked for; null when that was too much or the position is none of this feed. */
  missed: readonly ChangedRow[] | null;
  unsubscribe(): void;
}

/** Tells many followers what changes, all from one look at it. */
export interface ChangeFeed {
  /** Throws TooManyRequests when there are too many followers already. */
  assertCapacity(principal: Principal): void;
  /** Begins to tell; `since` is the position up to which all is known, null for none. */
  subscribe(follower: ChangeSubscriber, since: number | null): ChangeSubscription;
  stop(): void;
}

/** Followers at once, in all and of one user. own choice */
const MAX_SUBSCRIBERS = 500;
const MAX_SUBSCRIBERS_PER_USER = 50;
/** Somebody who missed more reads everything anew. own choice */
const MAX_MISSED_CHANGES = 2_000;
const HEARTBEAT_MS = 5_000;

/** Starts the feed. */
export function createChangeFeed(needs: ChangeFeedDeps): ChangeFeed {
  const { reader, access, clock, events, log } = needs;
  const followers = new Set<ChangeSubscriber>();
  const hub = createChangeBroadcaster({
    ...needs,
    seq: newestSeq(reader),
    onBatch: (fold) => guarded(() => publish(fold)),
  });

  /** No timer of a feed for people may end the process that rings bells. */
  function guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      log.error({ err: error }, "the change feed failed");
    }
  }

  /** Null, and the follower is gone, when it may not act in its domain any more. */
  function scopeOf(follower: ChangeSubscriber): AccessScope | null {
    try {
      return access.resolveScope(follower.principal, follower.domainId);
    } catch {
      end(follower);
      return null;
    }
  }

  function end(follower: ChangeSubscriber): void {
    if (followers.delete(follower)) follower.onEnd();
  }

  function publish({ seq, changes }: ChangeBatch): void {
    const seen = new Map<AccessScope, ChangedRow[]>();
    for (const follower of followers) {
      const scope = scopeOf(follower);
      if (!scope) continue;
      const visible = seen.get(scope) ?? visibleChanges(changes, scope, needs);
      seen.set(scope, visible);
      if (visible.length > 0) follower.onChanges(seq, visible);
    }
  }

  function endUnlessValid(follower: ChangeSubscriber): boolean {
    if (access.isStillValid(follower.principal)) return true;
    end(follower);
    return false;
  }

  const heartbeat = clock.every(HEARTBEAT_MS, () =>
    guarded(() => {
      for (const follower of followers) if (endUnlessValid(follower)) follower.onHeartbeat(hub.seq);
    }),
  );
  const stopWatching = events.on("row.changed", ({ resource, id, op }) => {
    if (op === "create" || (resource !== userTokens.name && resource !== users.name)) return;
    for (const follower of followers) {
      const { tokenId, userId } = follower.principal;
      if (tokenId === id || userId === id) endUnlessValid(follower);
    }
  });

  function missedSince(since: number): ChangedRow[] | null {
    const passedOver = hub.unsequencedSince(since);
    const changed = passedOver && changesAfter(reader, since);
    if (!changed) return null;
    const known = new Set(changed.map(({ resource, id }) => `${resource}/${id}`));
    return [...changed, ...passedOver.filter(({ resource, id }) => !known.has(`${resource}/${id}`))];
  }

  return {
    assertCapacity({ userId }) {
      const ofUser = [...followers].filter(({ principal }) => principal.userId === userId);
      if (followers.size >= MAX_SUBSCRIBERS || ofUser.length >= MAX_SUBSCRIBERS_PER_USER)
        throw new TooManyRequestsError(HEARTBEAT_MS / 1_000);
    },
    subscribe(follower, since) {
      const seq = Math.max(hub.seq, newestSeq(reader));
      followers.add(follower);
      const unsubscribe = (): void => void followers.delete(follower);
      if (since === null) return { seq, missed: [], unsubscribe };
      const missed = since > seq ? null : missedSince(since);
      const scope = missed && scopeOf(follower);
      return { seq, missed: missed && scope ? visibleChanges(missed, scope, needs) : null, unsubscribe };
    },
    stop() {
      heartbeat.cancel();
      stopWatching();
      hub.stop();
      followers.clear();
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
