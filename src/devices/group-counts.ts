import type { Clock } from "../lib/clock.ts";
import { COUNTED_DEVICE_TYPES, countIntersection, type DeviceSet, type DeviceSlots } from "./device-bitsets.ts";
import type { GroupMemberships, GroupSets } from "./group-memberships.ts";

/** Members of a group by kind of device. */
export interface DeviceCounts {
  numPhones: number;
  numSpeakers: number;
  numIdns: number;
  numPlugins: number;
}

/** Says how many devices groups have. */
export interface GroupCounts {
  /**
   * What is known of these groups at once. own choice: a group not counted yet is left out and counted meanwhile, one
   * that changed shows its last numbers; small sites are always counted on the spot.
   */
  of(groupIds: readonly string[]): ReadonlyMap<string, DeviceCounts>;
  /** Resolves when nothing waits to be counted. */
  idle(): Promise<void>;
}

/** Counting on the spot is given up after so long. own choice */
const INLINE_BUDGET_MS = 15;

/** What the counter of some kind of groups needs. */
export interface GroupCountDeps {
  memberships: GroupMemberships;
  clock: Clock;
  onError(error: unknown): void;
  /** Ids of all groups that must be known to count some of them; these alone unless given. */
  counting?(groupIds: readonly string[]): readonly string[];
  /** Counts; members of each set unless given. */
  count?(groupIds: readonly string[], sets: GroupSets): ReadonlyMap<string, DeviceCounts>;
}

/** Makes the counter. */
export function createGroupCounts(needs: GroupCountDeps): GroupCounts {
  const { memberships, counting = (ids) => ids, count = countMembers } = needs;
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
          .catch(needs.onError)
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

/** The devices of a set by kind. */
export function countByDeviceType(set: DeviceSet, places: DeviceSlots): DeviceCounts {
  const [numPhones = 0, numSpeakers = 0, numIdns = 0, numPlugins = 0] = COUNTED_DEVICE_TYPES.map((kind) =>
    countIntersection(set, places.ofType(kind)),
  );
  return { numPhones, numSpeakers, numIdns, numPlugins };
}
