import { declinableTemplatePk, HAS_DECLINED_SQL } from "../../people/opt-outs.ts";
import type { SqlValue, StoreReader, Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { type WriteLane, writeInChunks } from "../engine/chunked-writes.ts";
import { incrementCounter } from "../engine/counters.ts";
import type { PipelineStageDeps } from "../engine/pipeline-stage.ts";

/** Why users are recipients: a list, a directory group, an area, an earlier message, or an individual recipient. */
type RecipientSource = { list: number } | { directory: number } | { area: string } | { message: number } | "named";

/**
 * Users with keys in (after, upTo] from one source; `count` of its rows belong to them, ended subscriptions and every
 * device inside an area included.
 */
interface RecipientRange {
  ground: RecipientSource;
  after: number;
  upTo: number;
  count: number;
}

/** Iterates over a message's recipients, source by source, in the order of an index: the cost per user is constant. */
interface RecipientCursor {
  /** The next users, at most `most`; null at the end. */
  next(reader: StoreReader, limit: number): RecipientRange | null;
}

const LISTS = "SELECT target FROM notifications__distribution_list_ids WHERE owner = ? ORDER BY target";

const DIRECTORIES = `SELECT DISTINCT t.scim_group_pk AS target FROM notifications__distribution_list_ids l
  JOIN distribution_list_scim_groups t ON t.distribution_list_pk = l.target WHERE l.owner = ? ORDER BY t.scim_group_pk`;

/** Deleted areas drop out of the join. */
const AREAS = `SELECT a.id FROM notifications__area_of_interest_ids l JOIN areas_of_interest a ON a.pk = l.target
  WHERE l.owner = ? ORDER BY l.target`;

const ON_LIST = `SELECT max(user_pk) AS last, count(*) AS n FROM (SELECT user_pk FROM subscriptions
  WHERE distribution_list_pk = ? AND user_pk > ? ORDER BY user_pk LIMIT ?)`;

const IN_DIRECTORY = `SELECT max(user_pk) AS last, count(*) AS n FROM (SELECT user_pk FROM scim_group_members
  WHERE scim_group_pk = ? AND user_pk > ? ORDER BY user_pk LIMIT ?)`;

const INSIDE = `SELECT max(user) AS last, count(*) AS n FROM (SELECT user FROM area_presence
  WHERE area = ? AND user > ? ORDER BY user LIMIT ?)`;

/** Deleted messages drop out of the join. */
const EARLIER_MESSAGES = `SELECT told.pk FROM notifications own, json_each(own.told_before) x
  JOIN notifications told ON told.id = x.value WHERE own.pk = ? ORDER BY told.pk`;

const TOLD = `SELECT max(user_pk) AS last, count(*) AS n FROM (SELECT user_pk FROM notification_recipients
  WHERE notification_pk = ? AND user_pk > ? ORDER BY user_pk LIMIT ?)`;

const NAMED = `SELECT max(target) AS last, count(*) AS n FROM (SELECT target FROM notifications__user_ids
  WHERE owner = ? AND target > ? ORDER BY target LIMIT ?)`;

function openRecipientCursor(reader: StoreReader, notificationPk: number): RecipientCursor {
  const grounds: RecipientSource[] = [
    ...reader.all<{ target: number }>(LISTS, notificationPk).map(({ target }) => ({ list: target })),
    ...reader.all<{ target: number }>(DIRECTORIES, notificationPk).map(({ target }) => ({ directory: target })),
    ...reader.all<{ id: string }>(AREAS, notificationPk).map(({ id }) => ({ area: id })),
    ...reader.all<{ pk: number }>(EARLIER_MESSAGES, notificationPk).map(({ pk }) => ({ message: pk })),
    "named",
  ];
  let at = 0;
  let after = 0;
  return {
    next(now, limit) {
      for (; at < grounds.length; at++, after = 0) {
        const ground = grounds[at] as RecipientSource;
        const [sql, key] = rangeSql(ground, notificationPk);
        const page = now.one<{ last: number | null; n: number }>(sql, key, after, limit);
        if (!page || page.last === null) continue;
        const range = { ground, after, upTo: page.last, count: page.n };
        after = page.last;
        return range;
      }
      return null;
    },
  };
}

function rangeSql(ground: RecipientSource, notificationPk: number): [sql: string, key: SqlValue] {
  if (ground === "named") return [NAMED, notificationPk];
  if ("directory" in ground) return [IN_DIRECTORY, ground.directory];
  if ("message" in ground) return [TOLD, ground.message];
  return "list" in ground ? [ON_LIST, ground.list] : [INSIDE, ground.area];
}

/** `FROM … WHERE …` of the users `u` in a range at a time, with its parameters. */
function usersInRangeSql(
  range: RecipientRange,
  notificationPk: number,
  now: number,
): { sql: string; params: SqlValue[] } {
  const { ground } = range;
  if (ground === "named") {
    return {
      sql: "FROM notifications__user_ids l JOIN users u ON u.pk = l.target WHERE l.owner = ? AND l.target > ? AND l.target <= ?",
      params: [notificationPk, range.after, range.upTo],
    };
  }
  if ("directory" in ground) {
    return {
      sql: `FROM scim_group_members m JOIN users u ON u.pk = m.user_pk
        WHERE m.scim_group_pk = ? AND m.user_pk > ? AND m.user_pk <= ?`,
      params: [ground.directory, range.after, range.upTo],
    };
  }
  if ("message" in ground) {
    return {
      sql: `FROM notification_recipients r JOIN users u ON u.pk = r.user_pk
        WHERE r.notification_pk = ? AND r.user_pk > ? AND r.user_pk <= ?`,
      params: [ground.message, range.after, range.upTo],
    };
  }
  if ("area" in ground) {
    // A user with several devices inside counts once.
    return {
      sql: `FROM (SELECT DISTINCT user FROM area_presence WHERE area = ? AND user > ? AND user <= ?) p
        JOIN users u ON u.pk = p.user WHERE 1`,
      params: [ground.area, range.after, range.upTo],
    };
  }
  return {
    sql: `FROM subscriptions s JOIN users u ON u.pk = s.user_pk
      WHERE s.distribution_list_pk = ? AND s.user_pk > ? AND s.user_pk <= ?
        AND (s.subscription_end_date IS NULL OR s.subscription_end_date > ?)`,
    params: [ground.list, range.after, range.upTo, now],
  };
}

/** True when a message has so few users that writing them first delays no device: at most `most` source rows. */
export function hasAtMostUsers(reader: StoreReader, notificationPk: number, limit: number): boolean {
  const walk = openRecipientCursor(reader, notificationPk);
  let seen = 0;
  for (let range = walk.next(reader, limit + 1); range && seen <= limit; range = walk.next(reader, limit + 1)) {
    seen += range.count;
  }
  return seen <= limit;
}

/**
 * Writes a message's distinct users as its recipients, in chunks, `last` with the last of them; repeated, it adds only
 * missing ones. Users who opted out of its template are stored with that state, do not get the message in their list,
 * and are not counted. A locked account is still warned, since its lock concerns login only.
 */
export async function writeRecipients(
  row: NotificationRow,
  deps: PipelineStageDeps,
  lane: WriteLane,
  last?: (tx: Transaction) => void,
): Promise<void> {
  const { store, clock } = deps;
  const walk = openRecipientCursor(store, row.pk);
  const endpoint = endpointPkOf(store, deps.endpointId());
  await writeInChunks(
    deps,
    lane,
    (tx, limit) => {
      let left = limit;
      while (left > 0) {
        const range = walk.next(tx, left);
        if (!range) return limit - left;
        insertRange(tx, range, row.pk, endpoint, clock.now());
        left -= range.count;
      }
      return limit;
    },
    last,
  );
}

function insertRange(
  tx: Transaction,
  range: RecipientRange,
  notification: number,
  endpoint: number,
  now: number,
): void {
  const { sql, params } = usersInRangeSql(range, notification, now);
  const template = declinableTemplatePk(tx, { pk: notification });
  const insert = (declined: 0 | 1): number => {
    const [which, asked] =
      template === null ? ["", []] : [`AND ${declined ? "" : "NOT"} ${HAS_DECLINED_SQL}`, [template]];
    return tx.run(
      `INSERT OR IGNORE INTO notification_recipients
         (id, created_at, updated_at, notification_pk, user_pk, endpoint_pk, name, email, type, read, declined, hidden_at)
       SELECT uuid7(), ?, ?, ?, u.pk, ?, u.name, u.email, u.type, 0, ?, ? ${sql} ${which}`,
      ...[now, now, notification, endpoint, declined, declined ? now : null],
      ...[...params, ...asked],
    ).changes;
  };
  incrementCounter(tx, notification, "recipients", insert(0));
  if (template !== null) insert(1);
}

/** Internal key of an appliance; 0 when it has no row. */
export function endpointPkOf(reader: StoreReader, endpointId: string): number {
  return reader.one<{ pk: number }>("SELECT pk FROM endpoints WHERE id = ?", endpointId)?.pk ?? 0;
}

/** Keys of a message's distinct users at a time, in chunks of at most `most`, each user once. */
export function* iterateUsers(
  reader: StoreReader,
  notificationPk: number,
  now: number,
  limit: number,
): Generator<number[]> {
  const walk = openRecipientCursor(reader, notificationPk);
  const seen = new Set<number>();
  for (let range = walk.next(reader, limit); range; range = walk.next(reader, limit)) {
    const { sql, params } = usersInRangeSql(range, notificationPk, now);
    const fresh = reader
      .all<{ pk: number }>(`SELECT u.pk ${sql}`, ...params)
      .map(({ pk }) => pk)
      .filter((pk) => !seen.has(pk));
    for (const pk of fresh) seen.add(pk);
    yield fresh;
  }
}
