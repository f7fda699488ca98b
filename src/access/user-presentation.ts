import type { Clock } from "../base/clock.ts";
import type users from "../resources/people/users.ts";
import type { Behaviour } from "../store/store.ts";
import { isLocked } from "./locks.ts";

type Present = NonNullable<Behaviour<typeof users>["present"]>;

interface GroupOfUser {
  user_pk: number;
  id: string;
  name: string;
  super_group: number;
  created_at: number;
}

interface SubscriptionOfUser {
  user_pk: number;
  id: string;
  created_at: number;
  subscription_end_date: number | null;
  list_id: string;
  list_name: string;
  list_created_at: number;
}

/**
 * The computed members of users: `isLocked`, what follows from `source`, `securityGroups` by name, and the
 * `subscriptions` that have not ended, oldest first; two queries a page.
 */
export function presentUsers(clock: Clock): Present {
  return (rows, { reader }) => {
    const pks = JSON.stringify(rows.map((row) => row.pk));
    const groups = reader.all<GroupOfUser & Record<string, string | number | null>>(
      `SELECT m.user_pk, g.id, g.name, g.super_group, g.created_at FROM security_group_members m
       JOIN security_groups g ON g.pk = m.security_group_pk
       WHERE m.user_pk IN (SELECT value FROM json_each(?)) ORDER BY g.name, g.pk`,
      pks,
    );
    const subscriptions = reader.all<SubscriptionOfUser & Record<string, string | number | null>>(
      `SELECT s.user_pk, s.id, s.created_at, s.subscription_end_date,
              l.id AS list_id, l.name AS list_name, l.created_at AS list_created_at
       FROM subscriptions s JOIN distribution_lists l ON l.pk = s.distribution_list_pk
       WHERE s.user_pk IN (SELECT value FROM json_each(?))
         AND (s.subscription_end_date IS NULL OR s.subscription_end_date > ?) ORDER BY s.pk`,
      pks,
      clock.now(),
    );
    const groupsOf = byUser(groups);
    const subscriptionsOf = byUser(subscriptions);
    const now = clock.now();
    return rows.map((row) => ({
      isLocked: isLocked(row.lock, now),
      fromCloudUserLoader: row.source === "cloud-user-loader",
      fromRegularUserLoader: row.source === "user-loader" || row.source === "sis-loader",
      securityGroups: (groupsOf.get(row.pk) ?? []).map(groupForm),
      subscriptions: (subscriptionsOf.get(row.pk) ?? []).map((subscription) => subscriptionForm(row.id, subscription)),
    }));
  };
}

function groupForm({ id, name, super_group, created_at }: GroupOfUser): Record<string, unknown> {
  return { id, name, superGroup: super_group === 1, createdAt: isoTime(created_at) };
}

function subscriptionForm(userId: string, subscription: SubscriptionOfUser): Record<string, unknown> {
  const { id, created_at, subscription_end_date, list_id, list_name, list_created_at } = subscription;
  return {
    id,
    userId,
    distributionListId: list_id,
    subscriptionEndDate: subscription_end_date === null ? null : isoTime(subscription_end_date),
    createdAt: isoTime(created_at),
    distributionList: { id: list_id, name: list_name, createdAt: isoTime(list_created_at) },
  };
}

function byUser<T extends { user_pk: number }>(rows: readonly T[]): Map<number, T[]> {
  const found = new Map<number, T[]>();
  for (const row of rows) {
    const list = found.get(row.user_pk);
    if (list) list.push(row);
    else found.set(row.user_pk, [row]);
  }
  return found;
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}
