import type { CompiledGroup, GroupDefinition } from "../../devices/group-definition.ts";
import { compileGroups } from "../../devices/group-definition.ts";
import { loadGroupDefinitions, scanDevices } from "../../devices/group-scan.ts";
import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import deviceGroups from "../../resources/devices/device-groups.ts";
import distributionLists from "../../resources/lists/distribution-lists.ts";
import messageTemplates from "../../resources/messages/message-templates.ts";
import subscriptions from "../../resources/people/subscriptions.ts";
import users from "../../resources/people/users.ts";
import type { AnyResource, RowOf } from "../../schema/resource.ts";
import type { StoreReader } from "../../store/store.ts";

/** The targets of a row: a list, a subscription, a template, a device group. */
export interface RecipientTargets {
  /** Keys of lists, for all their subscribers. */
  lists: readonly number[];
  users: readonly number[];
  /** Ids of device groups. */
  groups: readonly string[];
  /** Definitions of these groups and of the groups they are based on. */
  definitions: ReadonlyMap<string, GroupDefinition>;
}

/** Recipients that are lists, users and groups. */
export type RecipientIdLists = Readonly<
  Record<"distributionListIds" | "userIds" | "deviceGroupIds", readonly string[]>
>;

/** Added and removed recipients by internal key, ascending. */
export interface RecipientDiff {
  joining: number[];
  leaving: number[];
}

const NO_TARGETS: RecipientTargets = { lists: [], users: [], groups: [], definitions: new Map() };
/** Subscriptions read per turn. */
const CHUNK_SIZE = 2_000;

/** Targets of a row at a time, from the row alone; null for a row without targets. */
export function targetsOfRow(
  reader: StoreReader,
  resource: AnyResource,
  row: unknown,
  now: number,
): RecipientTargets | null {
  switch (resource.name) {
    case distributionLists.name:
      return { ...NO_TARGETS, lists: [(row as { pk: number }).pk] };
    case subscriptions.name: {
      const { userId, subscriptionEndDate: end } = row as RowOf<typeof subscriptions>;
      return end !== null && end <= now ? NO_TARGETS : { ...NO_TARGETS, users: keysOf(reader, "users", [userId]) };
    }
    case deviceGroups.name:
      return groupTargets(reader, [(row as { id: string }).id]);
    case messageTemplates.name:
      return targetsOfRecipients(reader, row as RowOf<typeof messageTemplates>);
    default:
      return null;
  }
}

/** Targets of recipients given by id. */
export function targetsOfRecipients(
  reader: StoreReader,
  { distributionListIds, userIds, deviceGroupIds }: RecipientIdLists,
): RecipientTargets {
  const lists = keysOf(reader, "distribution_lists", distributionListIds);
  return { ...groupTargets(reader, deviceGroupIds), lists, users: keysOf(reader, "users", userIds) };
}

function groupTargets(reader: StoreReader, groups: readonly string[]): RecipientTargets {
  return {
    ...NO_TARGETS,
    groups,
    definitions: groups.length === 0 ? NO_TARGETS.definitions : loadGroupDefinitions(reader, groups),
  };
}

function keysOf(reader: StoreReader, table: string, ids: readonly string[]): number[] {
  const sql = `SELECT pk FROM ${table} WHERE id IN (SELECT value FROM json_each(?)) ORDER BY pk`;
  return reader.all<{ pk: number }>(sql, JSON.stringify(ids)).map(({ pk }) => pk);
}

/** Targets without a list, user or device group that is to be removed. */
export function targetsWithout(
  targets: RecipientTargets,
  removed: { resource: AnyResource; id: string; pk: number },
): RecipientTargets {
  const { resource, id, pk } = removed;
  const others = (keys: readonly number[], from: AnyResource) =>
    resource.name === from.name ? keys.filter((key) => key !== pk) : keys;
  const definitions = new Map(targets.definitions);
  if (resource.name === deviceGroups.name) {
    definitions.delete(id);
    for (const [group, definition] of definitions) {
      const baseDeviceGroupIds = definition.baseDeviceGroupIds.filter((base) => base !== id);
      const hasLostBases = definition.hasLostBases || baseDeviceGroupIds.length < definition.baseDeviceGroupIds.length;
      definitions.set(group, { ...definition, baseDeviceGroupIds, hasLostBases });
    }
  }
  return {
    lists: others(targets.lists, distributionLists),
    users: others(targets.users, users),
    groups: targets.groups.filter((group) => group !== id),
    definitions,
  };
}

/** Devices and users of targets. */
export async function countTargets(
  targets: RecipientTargets,
  deps: { reader: StoreReader; clock: Clock },
): Promise<{ devices: number; users: number }> {
  const { joining } = await diffDevices(NO_TARGETS, targets, deps);
  return { devices: joining.length, users: (await usersOfTargets(targets, deps)).size };
}

/** Users added and removed between two states; in chunks, since lists may be long. */
export async function diffUsers(
  before: RecipientTargets,
  after: RecipientTargets,
  deps: { reader: StoreReader; clock: Clock },
): Promise<RecipientDiff> {
  const isSame = String(before.lists) === String(after.lists) && String(before.users) === String(after.users);
  if (isSame) return { joining: [], leaving: [] };
  const [then, now] = [await usersOfTargets(before, deps), await usersOfTargets(after, deps)];
  return { joining: difference(now, then), leaving: difference(then, now) };
}

const ON_LIST = `SELECT user_pk AS pk, subscription_end_date IS NULL OR subscription_end_date > ? AS isOn FROM subscriptions
  WHERE distribution_list_pk = ? AND user_pk > ? ORDER BY user_pk LIMIT ${CHUNK_SIZE}`;
const IN_DIRECTORY = `SELECT user_pk AS pk, 1 AS isOn FROM scim_group_members
  WHERE scim_group_pk = ? AND user_pk > ? ORDER BY user_pk LIMIT ${CHUNK_SIZE}`;

/** Internal keys of the users of targets; in chunks, since lists may be long. */
export async function usersOfTargets(
  { lists, users }: RecipientTargets,
  { reader, clock }: { reader: StoreReader; clock: Clock },
): Promise<Set<number>> {
  const found = new Set(users);
  const add = async (sql: string, ...keys: number[]): Promise<void> => {
    for (let last = 0; ; ) {
      const page = reader.all<{ pk: number; isOn: number }>(sql, ...keys, last);
      for (const { pk, isOn } of page) if (isOn === 1) found.add(pk);
      last = page.at(-1)?.pk ?? 0;
      if (page.length < CHUNK_SIZE) break;
      await yieldToEventLoop(clock);
    }
  };
  for (const list of lists) {
    await add(ON_LIST, clock.now(), list);
    const tied = "SELECT scim_group_pk AS pk FROM distribution_list_scim_groups WHERE distribution_list_pk = ?";
    for (const { pk } of reader.all<{ pk: number }>(tied, list)) await add(IN_DIRECTORY, pk);
  }
  return found;
}

function difference(those: ReadonlySet<number>, others: ReadonlySet<number>): number[] {
  return [...those].filter((pk) => !others.has(pk)).sort((a, b) => a - b);
}

/** As `diffUsers`, for devices; one pass over all of them. */
export async function diffDevices(
  before: RecipientTargets,
  after: RecipientTargets,
  deps: { reader: StoreReader; clock: Clock },
): Promise<RecipientDiff> {
  const found: RecipientDiff = { joining: [], leaving: [] };
  if (before.groups.length === 0 && after.groups.length === 0) return found;
  const [then, now] = [compiled(before), compiled(after)];
  await scanDevices(deps, (device) => {
    const was = then.some((group) => group.contains(device));
    const is = now.some((group) => group.contains(device));
    if (is && !was) found.joining.push(device.pk);
    if (was && !is) found.leaving.push(device.pk);
  });
  return found;
}

function compiled({ groups, definitions }: RecipientTargets): CompiledGroup[] {
  const all = compileGroups(definitions);
  return groups.flatMap((id) => all.get(id.toLowerCase()) ?? []);
}
