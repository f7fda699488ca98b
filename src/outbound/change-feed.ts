import type { Access, Principal } from "../access/principal.ts";
import type { Clock } from "../base/clock.ts";
import { TooManyRequests } from "../base/errors.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { Reader, Scope } from "../store/store.ts";
import { createChangeHub, type Fold, type HubNeeds, type RowChange } from "./change-hub.ts";
import { visibleChanges } from "./visible-changes.ts";

/** What the feed is made of. */
export interface ChangeFeedNeeds extends Pick<HubNeeds, "rowsOfPlugin"> {
  reader: Reader;
  access: Access;
  catalogue: Catalogue;
  clock: Clock;
  events: Events;
  log: Log;
}

/** Somebody who is told of changes, however it is carried to them. */
export interface Follower {
  principal: Principal;
  /** Acting domain; null for the user's first one. */
  domainId: string | null;
  /** What the follower may know of, at most every 100 ms; the same list for all with the same rights. */
  tell(seq: number, changes: readonly RowChange[]): void;
  /** Every 5 s, with the newest position. */
  beat(seq: number): void;
  /** The last call: the token is no longer good, or the follower may no longer act there. */
  end(): void;
}

/** What a new follower needs to know first. */
export interface Joined {
  /** Position up to which all is known now. */
  seq: number;
  /** What changed since the position asked for; null when that was too much or the position is none of this feed. */
  missed: readonly RowChange[] | null;
  leave(): void;
}

/** Tells many followers what changes, all from one look at it. */
export interface ChangeFeed {
  /** Throws TooManyRequests when there are too many followers already. */
  admit(principal: Principal): void;
  /** Begins to tell; `since` is the position up to which all is known, null for none. */
  join(follower: Follower, since: number | null): Joined;
  stop(): void;
}

/** Followers at once, in all and of one user. own choice */
const MOST = 500;
const MOST_OF_USER = 50;
/** Somebody who missed more reads everything anew. own choice */
const MOST_MISSED = 2_000;
const HEARTBEAT_MS = 5_000;

/** Starts the feed. */
export function createChangeFeed(needs: ChangeFeedNeeds): ChangeFeed {
  const { reader, access, clock, events, log } = needs;
  const followers = new Set<Follower>();
  const hub = createChangeHub({ ...needs, seq: newestSeq(reader), onFold: (fold) => guarded(() => tell(fold)) });

  /** No timer of a feed for people may end the process that rings bells. */
  function guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      log.error({ err: error }, "the change feed failed");
    }
  }

  /** Null, and the follower is gone, when it may not act in its domain any more. */
  function scopeOf(follower: Follower): Scope | null {
    try {
      return access.scopeOf(follower.principal, follower.domainId);
    } catch {
      end(follower);
      return null;
    }
  }

  function end(follower: Follower): void {
    if (followers.delete(follower)) follower.end();
  }

  function tell({ seq, changes }: Fold): void {
    const seen = new Map<Scope, RowChange[]>();
    for (const follower of followers) {
      const scope = scopeOf(follower);
      if (!scope) continue;
      const visible = seen.get(scope) ?? visibleChanges(changes, scope, needs);
      seen.set(scope, visible);
      if (visible.length > 0) follower.tell(seq, visible);
    }
  }

  function endUnlessValid(follower: Follower): boolean {
    if (access.stillValid(follower.principal)) return true;
    end(follower);
    return false;
  }

  const heartbeat = clock.every(HEARTBEAT_MS, () =>
    guarded(() => {
      for (const follower of followers) if (endUnlessValid(follower)) follower.beat(hub.seq);
    }),
  );
  const stopWatching = events.on("row.changed", ({ resource, id, op }) => {
    if (op === "create" || (resource !== userTokens.name && resource !== users.name)) return;
    for (const follower of followers) {
      const { tokenId, userId } = follower.principal;
      if (tokenId === id || userId === id) endUnlessValid(follower);
    }
  });

  function missedSince(since: number): RowChange[] | null {
    const passedOver = hub.passedOverSince(since);
    const changed = passedOver && changesAfter(reader, since);
    if (!changed) return null;
    const known = new Set(changed.map(({ resource, id }) => `${resource}/${id}`));
    return [...changed, ...passedOver.filter(({ resource, id }) => !known.has(`${resource}/${id}`))];
  }

  return {
    admit({ userId }) {
      const ofUser = [...followers].filter(({ principal }) => principal.userId === userId);
      if (followers.size >= MOST || ofUser.length >= MOST_OF_USER) throw new TooManyRequests(HEARTBEAT_MS / 1_000);
    },
    join(follower, since) {
      const seq = Math.max(hub.seq, newestSeq(reader));
      followers.add(follower);
      const leave = (): void => void followers.delete(follower);
      if (since === null) return { seq, missed: [], leave };
      const missed = since > seq ? null : missedSince(since);
      const scope = missed && scopeOf(follower);
      return { seq, missed: missed && scope ? visibleChanges(missed, scope, needs) : null, leave };
    },
    stop() {
      heartbeat.cancel();
      stopWatching();
      hub.stop();
      followers.clear();
    },
  };
}

function newestSeq(reader: Reader): number {
  return reader.one<{ seq: number | null }>("SELECT max(seq) AS seq FROM changes")?.seq ?? 0;
}

/** The newest change of each row after a position, oldest first; null when there are too many. */
function changesAfter(reader: Reader, since: number): RowChange[] | null {
  const rows = reader.all<{ type: string; row_id: string; op: RowChange["op"] }>(
    "SELECT type, row_id, op FROM changes WHERE seq > ? ORDER BY seq LIMIT ?",
    since,
    MOST_MISSED + 1,
  );
  return rows.length > MOST_MISSED ? null : rows.map(({ type, row_id, op }) => ({ resource: type, id: row_id, op }));
}
