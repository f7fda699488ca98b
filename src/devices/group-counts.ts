import type { Clock } from "../lib/clock.ts";
import { COUNTED_DEVICE_TYPES, countIntersection, type DeviceSet, type DeviceSlots } from "./device-bitsets.ts";
import type { GroupMemberships, GroupSets } from "./group-memberships.ts";

/** Members of a group by device type. */
export interface DeviceCounts {
  numPhones: number;
  numSpeakers: number;
  numIdns: number;
  numPlugins: number;
}

export interface GroupCounts {
  /**
   * Counts that are available now. A group that was never counted is absent and is counted in the background; a group that
   * changed returns its previous counts. Small sites are always counted immediately.
   */
  of(groupIds: readonly string[]): ReadonlyMap<string, DeviceCounts>;
  /** Resolves when no group waits to be counted. */
  idle(): Promise<void>;
}

/** Time limit for counting immediately. @source docs/decisions/0201-device-groups-and-filters.md, Counts and caches */
const INLINE_BUDGET_MS = 15;

export interface GroupCountDeps {
  memberships: GroupMemberships;
  clock: Clock;
  onError(error: unknown): void;
  /** Ids of all groups that are needed to count the given ones; only these by default. */
  counting?(groupIds: readonly string[]): readonly string[];
  /** Counts the groups; the members of each set by default. */
  count?(groupIds: readonly string[], sets: GroupSets): ReadonlyMap<string, DeviceCounts>;
}

export function createGroupCounts(deps: GroupCountDeps): GroupCounts {
  const { memberships, counting = (ids) => ids, count = countMembers } = deps;
  const last = new Map<string, DeviceCounts>();
  const wanted = new Set<string>();
  let running: Promise<void> | null = null;
  const keep = (groupIds: readonly string[], sets: GroupSets): true => {
    for (const [id, counts] of count(groupIds, sets)) last.set(id, counts);
    return true;
  };
  const countWanted = async (): Promise<void> => {
    while (wanted.size > 0) {
      const ids = [...wanted];
      wanted.clear();
      await memberships.withGroupSets(counting(ids), (sets) => keep(ids, sets));
    }
  };
  return {
    of(groupIds) {
      if (!memberships.tryWithGroupSets(counting(groupIds), INLINE_BUDGET_MS, (sets) => keep(groupIds, sets))) {
        for (const id of groupIds) wanted.add(id);
        running ??= countWanted()
          .catch(deps.onError)
          .finally(() => {
            running = null;
          });
      }
      return new Map(groupIds.flatMap((id) => (last.has(id) ? [[id, last.get(id) as DeviceCounts]] : [])));
    },
    idle: async () => running ?? undefined,
  };
}

function countMembers(groupIds: readonly string[], { get: of, slots }: GroupSets): ReadonlyMap<string, DeviceCounts> {
  return new Map(
    groupIds.flatMap((id) => {
      const set = of(id);
      return set ? [[id, countByDeviceType(set, slots)]] : [];
    }),
  );
}

/** Devices of a set by type. */
export function countByDeviceType(set: DeviceSet, places: DeviceSlots): DeviceCounts {
  const [numPhones = 0, numSpeakers = 0, numIdns = 0, numPlugins = 0] = COUNTED_DEVICE_TYPES.map((kind) =>
    countIntersection(set, places.ofType(kind)),
  );
  return { numPhones, numSpeakers, numIdns, numPlugins };
}
