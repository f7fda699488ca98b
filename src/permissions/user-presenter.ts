import { isAccountLocked } from "../auth/account-lock.ts";
import { serializeProvider } from "../auth/identity-providers.ts";
import type { Clock } from "../lib/clock.ts";
import subscriptions from "../resources/people/subscriptions.ts";
import type users from "../resources/people/users.ts";
import identityProviders from "../resources/security/identity-providers.ts";
import securityGroupMembers from "../resources/security/security-group-members.ts";
import type { RowOf } from "../schema/resource.ts";
import type { AccessScope, ResourceHooks, StoreReader } from "../store/store.ts";
import { buildVisibilitySql } from "../store/visibility-sql.ts";
import { DIRECT_MEMBERSHIPS_SQL, GROUP_MEMBERSHIPS_SQL } from "./security-group-memberships.ts";

type Present = NonNullable<ResourceHooks<typeof users>["present"]>;

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
 * The computed fields of users: `isLocked`, fields derived from `source`, and, as far as visible in the acting domain,
 * `securityGroups` by name and active `subscriptions`, oldest first. Two queries per page; none for nested rows.
 */
export function createUserPresenter(clock: Clock): Present {
  return (rows, { reader, scope, query, params, isNested }) => {
    const deviceState = readDeviceStates(rows, reader);
    const ofOne = params.userId !== undefined && query.excludeScim === "true";
    const providers = readProviders(reader);
    const domains = query.includeDomains === true ? readDomains(rows, reader, scope) : null;
    const lists = isNested
      ? () => ({})
      : readGroupsAndSubscriptions(rows, reader, scope, clock, ofOne ? DIRECT_MEMBERSHIPS_SQL : GROUP_MEMBERSHIPS_SQL);
    const now = clock.now();
    return rows.map((row) => ({
      isLocked: isAccountLocked(row.lock, now),
      licenseState: licenseState(row),
      deviceState: deviceState(row),
      fromCloudUserLoader: row.source === "cloud-user-loader",
      fromRegularUserLoader: row.source === "user-loader" || row.source === "sis-loader",
      ...providers(row, query.includeIdp === true),
      ...(domains ? { domains: domains(row) } : {}),
      ...lists(row),
    }));
  };
}

/** The licence counts regular users only. */
function licenseState({ type, isLicensed }: UserRow): string {
  if (type !== "regular") return "excluded";
  return isLicensed ? "licensed" : "not-licensed";
}

/** Whether a user has an enabled device; one query per page. */
function readDeviceStates(rows: readonly UserRow[], reader: StoreReader): (row: UserRow) => string | null {
  const found = reader.all<{ user: number; isOn: number }>(
    `SELECT user_pk AS user, MAX(disabled IS NOT 1) AS isOn FROM user_devices
     WHERE user_pk IN (SELECT value FROM json_each(?)) GROUP BY user_pk`,
    JSON.stringify(rows.map(({ pk }) => pk)),
  );
  const isOn = new Map(found.map((each) => [each.user, each.isOn === 1]));
  return ({ pk }) => (isOn.has(pk) ? (isOn.get(pk) ? "enabled" : "disabled") : null);
}

/** Groups and subscriptions by user; `memberships` is the SQL of the memberships that count. */
function readGroupsAndSubscriptions(
  rows: readonly UserRow[],
  reader: StoreReader,
  scope: AccessScope,
  clock: Clock,
  memberships: string,
): (row: UserRow) => object {
  const pks = JSON.stringify(rows.map((row) => row.pk));
  const [members, subscribed] = [
    buildVisibilitySql(scope.domainVisibility.visible(securityGroupMembers)),
    buildVisibilitySql(scope.domainVisibility.visible(subscriptions)),
  ];
  const groups = reader.all<GroupOfUser & Record<string, string | number | null>>(
    `SELECT DISTINCT t.user_pk, g.id, g.name, g.super_group, g.created_at FROM ${memberships} t
     JOIN security_groups g ON g.pk = t.security_group_pk
     WHERE t.user_pk IN (SELECT value FROM json_each(?)) AND ${members.sql} ORDER BY g.name, g.pk`,
    pks,
    ...members.params,
  );
  const placed = reader.all<SubscriptionOfUser & Record<string, string | number | null>>(
    `SELECT t.user_pk, t.id, t.created_at, t.subscription_end_date,
            l.id AS list_id, l.name AS list_name, l.created_at AS list_created_at
     FROM subscriptions t JOIN distribution_lists l ON l.pk = t.distribution_list_pk
     WHERE t.user_pk IN (SELECT value FROM json_each(?)) AND ${subscribed.sql}
       AND (t.subscription_end_date IS NULL OR t.subscription_end_date > ?) ORDER BY t.pk`,
    pks,
    ...subscribed.params,
    clock.now(),
  );
  const groupsOf = groupByUser(groups);
  const subscriptionsOf = groupByUser(placed);
  return (row) => ({
    securityGroups: (groupsOf.get(row.pk) ?? []).map(serializeGroup),
    subscriptions: (subscriptionsOf.get(row.pk) ?? []).map((subscription) =>
      serializeSubscription(row.id, subscription),
    ),
  });
}

/** The identity provider of a user; one query per page. */
function readProviders(reader: StoreReader): (user: UserRow, isShown: boolean) => Record<string, unknown> {
  const all = reader.find(identityProviders, {}).map(serializeProvider);
  const builtIn = all.find(({ isDefault }) => isDefault) ?? null;
  return ({ providerKey }, isShown) => {
    const id = providerKey?.split(" ", 1)[0];
    const provider = all.find((each) => each.id === id) ?? builtIn;
    return { providerIdpId: provider?.id ?? null, ...(isShown ? { providerIdp: provider } : {}) };
  };
}

type UserRow = RowOf<typeof users>;

/** The domains of each user, by name path; one query per page. */
function readDomains(rows: readonly UserRow[], reader: StoreReader, scope: AccessScope): (row: UserRow) => object[] {
  const idsOf = ({ domainId, alsoIn }: UserRow): string[] => [...(domainId ? [domainId] : []), ...(alsoIn ?? [])];
  const found = reader.all<{ id: string; name: string; namePath: string | null }>(
    "SELECT id, name, name_path AS namePath FROM domains WHERE id IN (SELECT value FROM json_each(?)) ORDER BY name_path",
    JSON.stringify([...new Set(rows.flatMap(idsOf))]),
  );
  return (row) => found.filter(({ id }) => idsOf(row).includes(id) && scope.canReference(id));
}

function serializeGroup({ id, name, super_group, created_at }: GroupOfUser): Record<string, unknown> {
  return { id, name, superGroup: super_group === 1, createdAt: isoTime(created_at) };
}

function serializeSubscription(userId: string, subscription: SubscriptionOfUser): Record<string, unknown> {
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

function groupByUser<T extends { user_pk: number }>(rows: readonly T[]): Map<number, T[]> {
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
