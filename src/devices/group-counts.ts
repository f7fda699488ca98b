import type { Events } from "../base/events.ts";
import type { Reader } from "../store/store.ts";
import type { FilterableDevice } from "./device-filter.ts";
import { compileGroups } from "./group-definition.ts";
import { everyDevice, type GroupNeeds, loadGroups, scanDevices } from "./group-scan.ts";

/** Members of a group by kind of device. */
export interface DeviceCounts {
  numPhones: number;
  numSpeakers: number;
  numIdns: number;
  numPlugins: number;
}

/** Remembers how many devices groups have, and counts again after changes. */
export interface GroupCounts {
  /**
   * What is known of these groups at once. own choice: a group not counted yet is left out and counted meanwhile, one
   * that changed shows its last numbers; small sites are always counted on the spot.
   */
  of(groupIds: readonly string[]): ReadonlyMap<string, DeviceCounts>;
  /** Resolves when nothing waits to be counted. */
  idle(): Promise<void>;
}

/** Up to this many devices times groups are counted at once, about 5 ms of work. own choice */
const MOST_AT_ONCE = 20_000;
/** Counting on the spot is given up after so long. own choice */
const LONGEST_MS = 20;

const FIELDS: Readonly<Record<string, keyof DeviceCounts>> = {
  phones: "numPhones",
  speakers: "numSpeakers",
  idns: "numIdns",
  plugins: "numPlugins",
};

/** What the counter of some kind of groups needs. */
export interface CountNeeds extends GroupNeeds {
  events: Events;
  onError(error: unknown): void;
  /** Name of the resource whose rows the groups are; device groups unless given. */
  groups?: string;
  /** Reads groups; the function that it returns names those of `groupIds` that a device is in. */
  membershipOf?(reader: Reader, groupIds: readonly string[]): (device: FilterableDevice) => readonly string[];
}

/** Makes the counter; it listens to `events` for changes of devices and groups until the process ends. */
export function createGroupCounts(needs: CountNeeds): GroupCounts {
  const { groups = "device-groups", membershipOf = inDeviceGroups } = needs;
  const known = new Map<string, { version: number; counts: DeviceCounts }>();
  const wanted = new Set<string>();
  let version = 0;
  let running: Promise<void> | null = null;
  needs.events.on("row.changed", ({ resource }) => {
    if (resource === "devices" || resource === groups) version++;
  });

  const countWanted = async (): Promise<void> => {
    while (wanted.size > 0) {
      const ids = [...wanted];
      wanted.clear();
      const started = version;
      const tally = createTally(membershipOf(needs.reader, ids), ids);
      await scanDevices(needs, tally.add);
      for (const [id, counts] of tally.counts) known.set(id, { version: started, counts });
    }
  };

  /** False when it would take too long, be it because of many devices or of costly patterns. */
  const countAtOnce = (ids: readonly string[]): boolean => {
    if (ids.length === 0) return true;
    if (ids.length * countDevices(needs.reader) > MOST_AT_ONCE) return false;
    const until = needs.clock.monotonicMs() + LONGEST_MS;
    const tally = createTally(membershipOf(needs.reader, ids), ids);
    for (const device of everyDevice(needs.reader)) {
      if (needs.clock.monotonicMs() > until) return false;
      tally.add(device);
    }
    for (const [id, counts] of tally.counts) known.set(id, { version, counts });
    return true;
  };

  return {
    of(groupIds) {
      const stale = groupIds.filter((id) => known.get(id)?.version !== version);
      if (!countAtOnce(stale)) {
        for (const id of stale) wanted.add(id);
        running ??= countWanted()
          .catch(needs.onError)
          .finally(() => {
            running = null;
          });
      }
      const answer = new Map<string, DeviceCounts>();
      for (const id of groupIds) {
        const found = known.get(id);
        if (found) answer.set(id, found.counts);
      }
      return answer;
    },
    idle: async () => running ?? undefined,
  };
}

function inDeviceGroups(reader: Reader, groupIds: readonly string[]): (device: FilterableDevice) => string[] {
  const groups = compileGroups(loadGroups(reader, groupIds));
  return (device) => groupIds.filter((id) => groups.get(id)?.contains(device));
}

/** Counters for groups, filled by showing it the devices one by one. */
function createTally(groupsOf: (device: FilterableDevice) => readonly string[], groupIds: readonly string[]) {
  const counts = new Map<string, DeviceCounts>();
  for (const id of groupIds) counts.set(id, { numPhones: 0, numSpeakers: 0, numIdns: 0, numPlugins: 0 });
  return {
    counts,
    add(device: FilterableDevice): void {
      const field = FIELDS[device.type];
      if (!field) return;
      for (const id of groupsOf(device)) {
        const count = counts.get(id);
        if (count) count[field]++;
      }
    },
  };
}

function countDevices(reader: Reader): number {
  return reader.one<{ n: number }>("SELECT COUNT(*) AS n FROM devices")?.n ?? 0;
}
