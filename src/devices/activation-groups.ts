import { nextTurn } from "../base/clock.ts";
import type { Reader } from "../store/store.ts";
import { type DeviceSet, differenceOf, emptySet, hasMember, unionOf } from "./device-sets.ts";
import { countedDevices, type DeviceCounts } from "./group-counts.ts";
import type { GroupNeeds } from "./group-scan.ts";
import type { GroupSets, Memberships } from "./memberships.ts";

/** What activations are made of. */
export interface ActivationNeeds extends GroupNeeds {
  /** Which devices the activation groups describe. */
  described: Memberships;
  /** Whether an appliance could activate devices now. */
  isReachable(endpointId: string): boolean;
}

/** One of the appliances that may activate a device. */
export interface Candidate {
  endpointId: string;
  endpointName: string | null;
  reachable: boolean;
}

/** Who would activate a device now. */
export interface Activation {
  /** The group that the device is in; null when none describes it. */
  activationGroupId: string | null;
  activationGroupName: string | null;
  /** The appliance; null when none of the group's can be reached. */
  endpointId: string | null;
  endpointName: string | null;
  /** Why it is that one, in words. */
  reason: string;
  /** The appliances that may, in the order in which they are tried. */
  candidates: Candidate[];
}

/** Which appliance activates which devices. @source decisions.md 11 */
export interface Activations {
  /** Who would activate a device now; it is activated by the appliance that serves it when no group describes it. */
  of(device: { pk: number; endpointId: string }): Promise<Activation>;
  /** Ids of the groups that describe a device, the one that it is in first. */
  groupsOf(deviceId: string): Promise<string[]>;
  /**
   * Those of some devices, by internal key, that are not activated by the appliance that serves them: with the key of the
   * appliance that does, 0 where none that may can be reached.
   */
  elsewhere(devices: readonly number[]): Promise<[device: number, endpoint: number][]>;
  /**
   * Internal keys, ascending, of the devices that are in a group that `chosen` means; with `anyRank` of all that such a
   * group describes. The group `except` counts as if there were none. Defunct devices are in no group.
   */
  inGroups(
    chosen: (group: RankedGroup) => boolean,
    options?: { anyRank?: boolean; except?: string },
  ): Promise<number[]>;
}

/** An activation group in the order of groups. */
export interface RankedGroup {
  pk: number;
  id: string;
  priority: number;
  /** The appliances that may activate its devices. */
  endpointIds: readonly string[];
}

/** A group in the order of priority. */
interface Ranked {
  pk: number;
  id: string;
  name: string;
  priority: number;
  candidates: (Candidate & { pk: number })[];
}

/** Devices whose appliance is looked up at once: some ms. */
const LOOKED_UP_AT_ONCE = 2_000;

/** Makes it. */
export function createActivations(needs: ActivationNeeds): Activations {
  const { reader, clock, described } = needs;
  const ranked = (): Ranked[] => rankedGroups(needs);
  return {
    async of({ pk, endpointId }) {
      const groups = ranked();
      const group = await described.whenKnown(idsOf(groups), (sets) => groupOf(pk, groups, sets));
      return group ? byGroup(group) : byItsOwn(endpointId, needs);
    },
    async groupsOf(deviceId) {
      const describing = new Set(await described.groupsOf(deviceId));
      return idsOf(ranked()).filter((id) => describing.has(id));
    },
    async elsewhere(devices) {
      const groups = ranked();
      if (groups.length === 0 || devices.length === 0) return [];
      const found: [number, number][] = [];
      for (let at = 0; at < devices.length; at += LOOKED_UP_AT_ONCE) {
        const keys = JSON.stringify(devices.slice(at, at + LOOKED_UP_AT_ONCE));
        const serving = reader.all<{ pk: number; endpoint: number }>(
          "SELECT pk, endpoint_pk AS endpoint FROM devices WHERE pk IN (SELECT value FROM json_each(?))",
          keys,
        );
        await described.whenKnown(idsOf(groups), (sets) => {
          for (const { pk, endpoint } of serving) {
            const group = groupOf(pk, groups, sets);
            const acting = group ? (chosenOf(group)?.pk ?? 0) : endpoint;
            if (acting !== endpoint) found.push([pk, acting]);
          }
        });
        await nextTurn(clock);
      }
      return found;
    },
    async inGroups(chosen, { anyRank = false, except } = {}) {
      const groups = ranked().filter(({ id }) => id !== except);
      return described.whenKnown(idsOf(groups), ({ of, places }) => {
        const found: DeviceSet[] = [];
        let taken = emptySet();
        for (const { candidates, ...group } of groups) {
          const set = of(group.id) ?? emptySet();
          const endpointIds = candidates.map(({ endpointId }) => endpointId);
          if (chosen({ ...group, endpointIds })) found.push(anyRank ? set : differenceOf(set, taken));
          taken = unionOf([taken, set]);
        }
        return places.keysOf(unionOf(found));
      });
    },
  };
}

/** How many devices are in each group: each device is counted in the first one that describes it. */
export function countActivated(
  reader: Reader,
): (ids: readonly string[], sets: GroupSets) => ReadonlyMap<string, DeviceCounts> {
  return (ids, sets) => {
    const wanted = new Set(ids);
    const counts = new Map<string, DeviceCounts>();
    let taken = emptySet();
    for (const id of rankOf(reader)) {
      const set = sets.of(id);
      if (!set) continue;
      if (wanted.has(id)) counts.set(id, countedDevices(differenceOf(set, taken), sets.places));
      taken = unionOf([taken, set]);
    }
    return counts;
  };
}

/** Ids of all activation groups, the one that wins first. @source service-api.md, /v1/activation-groups */
export function rankOf(reader: Reader): string[] {
  return reader.all<{ id: string }>("SELECT id FROM activation_groups ORDER BY priority, pk").map(({ id }) => id);
}

/** At most 200 groups with at most 100 appliances each. */
function rankedGroups({ reader, isReachable }: ActivationNeeds): Ranked[] {
  const groups = new Map<string, Ranked>();
  const reachable = new Map<string, boolean>();
  for (const line of reader.all<{
    key: number;
    id: string;
    name: string;
    priority: number;
    pk: number | null;
    endpoint: string | null;
    called: string | null;
  }>(
    `SELECT g.pk AS key, g.id, g.name, g.priority, e.pk, e.id AS endpoint, e.name AS called FROM activation_groups g
     LEFT JOIN activation_groups__endpoint_ids l ON l.owner = g.pk LEFT JOIN endpoints e ON e.pk = l.target
     ORDER BY g.priority, g.pk, l.position`,
  )) {
    const group = groups.get(line.id) ?? {
      ...{ pk: line.key, id: line.id, name: line.name, priority: line.priority },
      candidates: [],
    };
    groups.set(line.id, group);
    if (line.pk === null || line.endpoint === null) continue;
    const known = reachable.get(line.endpoint) ?? isReachable(line.endpoint);
    reachable.set(line.endpoint, known);
    group.candidates.push({
      ...{ pk: line.pk, endpointId: line.endpoint, endpointName: line.called },
      reachable: known,
    });
  }
  return [...groups.values()];
}

function idsOf(groups: readonly Ranked[]): string[] {
  return groups.map(({ id }) => id);
}

function groupOf(device: number, groups: readonly Ranked[], { of, places }: GroupSets): Ranked | null {
  const place = places.placeOf(device);
  if (place === undefined) return null;
  return groups.find(({ id }) => hasMember(of(id) ?? emptySet(), place)) ?? null;
}

function chosenOf({ candidates }: Ranked): Ranked["candidates"][number] | null {
  return candidates.find(({ reachable }) => reachable) ?? null;
}

function byGroup(group: Ranked): Activation {
  const chosen = chosenOf(group);
  const before = chosen ? group.candidates.indexOf(chosen) : 0;
  const reason = !chosen
    ? `None of the appliances of ${group.name} can be reached.`
    : before === 0
      ? `It is the first appliance of ${group.name}.`
      : `It is the first appliance of ${group.name} that can be reached; ${before} before it can't.`;
  return {
    ...{ activationGroupId: group.id, activationGroupName: group.name, reason },
    ...{ endpointId: chosen?.endpointId ?? null, endpointName: chosen?.endpointName ?? null },
    candidates: group.candidates.map(({ pk: _key, ...candidate }) => candidate),
  };
}

/** own choice: what no group describes is activated by the appliance that serves it. */
function byItsOwn(endpointId: string, { reader, isReachable }: ActivationNeeds): Activation {
  const name = reader.one<{ name: string | null }>("SELECT name FROM endpoints WHERE id = ?", endpointId)?.name ?? null;
  const reachable = isReachable(endpointId);
  return {
    ...{ activationGroupId: null, activationGroupName: null },
    ...{ endpointId: reachable ? endpointId : null, endpointName: reachable ? name : null },
    reason: reachable
      ? "No activation group describes it: the appliance that serves it activates it."
      : "No activation group describes it, and the appliance that serves it can't be reached.",
    candidates: [{ endpointId, endpointName: name, reachable }],
  };
}
