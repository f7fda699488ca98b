import { yieldToEventLoop } from "../lib/clock.ts";
import type { StoreReader } from "../store/store.ts";
import { type DeviceSet, differenceOf, emptySet, hasMember, unionOf } from "./device-bitsets.ts";
import { countByDeviceType, type DeviceCounts } from "./group-counts.ts";
import type { GroupMemberships, GroupSets } from "./group-memberships.ts";
import type { GroupScanDeps } from "./group-scan.ts";

/** Stands among groups for the devices that no other appliance may activate. */
export const UNSHARED_GROUP_ID = "";

/** What activations are made of. */
export interface ActivationDeps extends GroupScanDeps {
  /** Which devices the activation groups describe. */
  groupMemberships: GroupMemberships;
  /** Whether an appliance could activate devices now. */
  isReachable(endpointId: string): boolean;
  /** This appliance. */
  ownId(): string;
  /**
   * Shares a message out at a group, or at a pair: the id of the appliance that acts for it now, and a word that is equal for
   * groups in which all is alike: this appliance's own id for those for which it acts and of which nobody else sounded it.
   */
  shareOut(messageId: string, groupId: string): { holder: string; equivalenceKey: string };
}

/** One of the appliances that may activate a device. */
export interface ActivationCandidate {
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
  candidates: ActivationCandidate[];
}

/** Which appliance activates which devices. @source decisions.md 11 */
export interface Activations {
  /** Who would activate a device now; it is activated by the appliance that serves it when no group describes it. */
  activationOf(device: { pk: number; endpointId: string }): Promise<Activation>;
  /** Ids of the groups that describe a device, the one that it is in first. */
  groupsOf(deviceId: string): Promise<string[]>;
  /**
   * Those of some devices, by internal key, that are not activated by the appliance that serves them: with the key of the
   * appliance that does, 0 where none that may can be reached.
   */
  activatedElsewhere(devices: readonly number[]): Promise<[device: number, endpoint: number][]>;
  /**
   * Ids of the appliances that may activate each of some devices, by internal key, in the order in which they are tried;
   * without devices that are in no group or pair.
   */
  candidateEndpoints(devices: readonly number[]): Promise<Map<number, readonly string[]>>;
  /**
   * Which of some devices, by internal key, this appliance takes on. A message that it alone has goes to all that it may
   * activate. One that all have (`sharedId`: its id) goes to those for which it acts; where it acts for none, to those of groups
   * in which all is alike, should its turn come. `covered`: ids of the groups and pairs that the message's devices are in here,
   * where others may activate them as well, and `ALONE`. `left`: ids of those whose devices others alone take on, which this one
   * may activate as well. `elsewhere` as above.
   */
  shareDevices(devices: readonly number[], sharedId: string | null): Promise<DeviceShare>;
  /** Those of some devices, by internal key, that are in one of these groups or pairs; with `ALONE` those of this appliance alone. */
  devicesWithin(devices: readonly number[], groupIds: readonly string[]): Promise<number[]>;
  /**
   * Internal keys, ascending, of the devices that are in a group that `chosen` means; with `anyRank` of all that such a
   * group describes. The group `except` counts as if there were none. Defunct devices are in no group.
   */
  devicesInGroups(
    chosen: (group: RankedGroup) => boolean,
    options?: { anyRank?: boolean; except?: string },
  ): Promise<number[]>;
}

/** What `share` says. */
export interface DeviceShare {
  activatedElsewhere: [device: number, endpoint: number][];
  sharedGroupIds: string[];
  delegatedGroupIds: string[];
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
interface RankedGroupCandidates {
  pk: number;
  id: string;
  name: string;
  priority: number;
  candidates: (ActivationCandidate & { pk: number })[];
}

/** A device with the appliance that serves it, by internal keys, and the group or pair that it is in. */
interface GroupedDevice {
  pk: number;
  endpoint: number;
  group: RankedGroupCandidates | null;
}

/** Devices whose appliance is looked up at once: some ms. */
const LOOKUP_CHUNK_SIZE = 2_000;

/** Makes it. */
export function createActivations(needs: ActivationDeps): Activations {
  const { reader, clock, groupMemberships } = needs;
  const loadRankedGroups = (): RankedGroupCandidates[] => readRankedGroups(needs);

  /** Hands each device to `found` with the group or pair that it is in, in pieces. */
  async function eachGroupedDevice(devices: readonly number[], found: (device: GroupedDevice) => void): Promise<void> {
    const groups = loadRankedGroups();
    const pairs = pairsByPrimary(needs);
    if (devices.length === 0 || groups.length + pairs.size === 0) return;
    for (let at = 0; at < devices.length; at += LOOKUP_CHUNK_SIZE) {
      const keys = JSON.stringify(devices.slice(at, at + LOOKUP_CHUNK_SIZE));
      const serving = reader.all<{ pk: number; endpoint: number }>(
        "SELECT pk, endpoint_pk AS endpoint FROM devices WHERE pk IN (SELECT value FROM json_each(?))",
        keys,
      );
      await groupMemberships.withGroupSets(idsOf(groups), (sets) => {
        for (const { pk, endpoint } of serving) {
          found({ pk, endpoint, group: groupOf(pk, groups, sets) ?? pairs.get(endpoint) ?? null });
        }
      });
      await yieldToEventLoop(clock);
    }
  }

  const isLocalCandidate = ({ candidates }: RankedGroupCandidates): boolean =>
    candidates.some(({ endpointId }) => endpointId === needs.ownId());
  /** The group or pair by which others may activate a device as well as this appliance; null for what is not for this one. */
  const sharedGroupOf = ({ group, endpoint }: GroupedDevice, own: number): string | null => {
    if (group ? !isLocalCandidate(group) : endpoint !== own) return null;
    return group && group.candidates.length > 1 ? group.id : UNSHARED_GROUP_ID;
  };
  const activatingEndpoint = ({ endpoint, group }: GroupedDevice): number =>
    group ? (firstReachable(group)?.pk ?? 0) : endpoint;

  return {
    async activationOf({ pk, endpointId }) {
      const groups = loadRankedGroups();
      const group = await groupMemberships.withGroupSets(idsOf(groups), (sets) => groupOf(pk, groups, sets));
      return group ? activationByGroup(group) : activationByServingEndpoint(endpointId, needs);
    },
    async groupsOf(deviceId) {
      const describing = new Set(await groupMemberships.groupsOf(deviceId));
      return idsOf(loadRankedGroups()).filter((id) => describing.has(id));
    },
    async activatedElsewhere(devices) {
      const found: [number, number][] = [];
      await eachGroupedDevice(devices, (device) => {
        const acting =
          device.group && isLocalCandidate(device.group) ? localEndpointKey(needs) : activatingEndpoint(device);
        if (acting !== device.endpoint) found.push([device.pk, acting]);
      });
      return found;
    },
    async candidateEndpoints(devices) {
      const found = new Map<number, readonly string[]>();
      await eachGroupedDevice(devices, ({ pk, group }) => {
        if (group) found.set(pk, idsOfCandidates(group));
      });
      return found;
    },
    async shareDevices(devices, sharedId) {
      const [own, ownId] = [localEndpointKey(needs), needs.ownId()];
      const ownShare = { holder: ownId, equivalenceKey: ownId };
      const shares = new Map<string, typeof ownShare>();
      const shareOf = (device: GroupedDevice): typeof ownShare | null => {
        const cover = sharedGroupOf(device, own);
        if (cover === null || sharedId === null) return cover === null ? null : ownShare;
        const share = shares.get(cover) ?? (cover === UNSHARED_GROUP_ID ? ownShare : needs.shareOut(sharedId, cover));
        shares.set(cover, share);
        return share;
      };
      const placed: (GroupedDevice & { share: typeof ownShare | null })[] = [];
      await eachGroupedDevice(devices, (device) => void placed.push({ ...device, share: shareOf(device) }));
      // What others act for is stood in for by messages of their own, not by a part of one that sounds already.
      const taken = selectLikeness(
        placed.flatMap(({ share }) => share?.equivalenceKey ?? []),
        ownId,
      );
      const activatedElsewhere: [number, number][] = [];
      for (const { share, ...device } of placed) {
        const acting = !share
          ? activatingEndpoint(device)
          : share.equivalenceKey === taken
            ? own
            : candidateKeyOf(share.holder, device.group);
        if (acting !== device.endpoint) activatedElsewhere.push([device.pk, acting]);
      }
      const idsWhere = (isOurs: boolean): string[] =>
        [...shares].flatMap(([id, { equivalenceKey }]) => ((equivalenceKey === taken) === isOurs ? [id] : []));
      return { activatedElsewhere, sharedGroupIds: idsWhere(true), delegatedGroupIds: idsWhere(false) };
    },
    async devicesWithin(devices, groupIds) {
      const own = localEndpointKey(needs);
      const found: number[] = [];
      await eachGroupedDevice(devices, (device) => {
        if (groupIds.includes(sharedGroupOf(device, own) ?? "none")) found.push(device.pk);
      });
      return found;
    },
    async devicesInGroups(chosen, { anyRank = false, except } = {}) {
      const groups = loadRankedGroups().filter(({ id }) => id !== except);
      return groupMemberships.withGroupSets(idsOf(groups), ({ get: of, slots }) => {
        const found: DeviceSet[] = [];
        let taken = emptySet();
        for (const { candidates, ...group } of groups) {
          const set = of(group.id) ?? emptySet();
          const endpointIds = candidates.map(({ endpointId }) => endpointId);
          if (chosen({ ...group, endpointIds })) found.push(anyRank ? set : differenceOf(set, taken));
          taken = unionOf([taken, set]);
        }
        return slots.keysOf(unionOf(found));
      });
    },
  };
}

/** Which of these likenesses an appliance takes on together: what is its own turn, else the first. */
export function selectLikeness(likes: readonly string[], ownId: string): string | undefined {
  return likes.includes(ownId) ? ownId : likes[0];
}

/** How many devices are in each group: each device is counted in the first one that describes it. */
export function countByActivationGroup(
  reader: StoreReader,
): (ids: readonly string[], sets: GroupSets) => ReadonlyMap<string, DeviceCounts> {
  return (ids, sets) => {
    const wanted = new Set(ids);
    const counts = new Map<string, DeviceCounts>();
    let taken = emptySet();
    for (const id of activationGroupOrder(reader)) {
      const set = sets.get(id);
      if (!set) continue;
      if (wanted.has(id)) counts.set(id, countByDeviceType(differenceOf(set, taken), sets.slots));
      taken = unionOf([taken, set]);
    }
    return counts;
  };
}

/** Ids of all activation groups, the one that wins first. @source service-api.md, /v1/activation-groups */
export function activationGroupOrder(reader: StoreReader): string[] {
  return reader.all<{ id: string }>("SELECT id FROM activation_groups ORDER BY priority, pk").map(({ id }) => id);
}

/** Pairs by the internal key of the first appliance: it serves devices that no group describes. */
function pairsByPrimary({ reader, isReachable }: ActivationDeps): Map<number, RankedGroupCandidates> {
  const lines = reader.all<{
    key: number;
    id: string;
    name: string;
    pk: number;
    endpoint: string;
    called: string | null;
  }>(
    `SELECT p.pk AS key, p.id, p.name, e.pk, e.id AS endpoint, e.name AS called FROM failover_pairs p
     JOIN endpoints e ON e.pk IN (p.primary_endpoint_pk, p.backup_endpoint_pk)
     ORDER BY p.pk, e.pk <> p.primary_endpoint_pk`,
  );
  const pairs = new Map<number, RankedGroupCandidates>();
  for (let at = 0; at + 1 < lines.length; at += 2) {
    const two = lines.slice(at, at + 2);
    const [first] = two as [(typeof lines)[number]];
    const candidates = two.map(({ pk, endpoint, called }) => {
      return { pk, endpointId: endpoint, endpointName: called, reachable: isReachable(endpoint) };
    });
    const { key, id, name } = first;
    if (!pairs.has(first.pk)) pairs.set(first.pk, { pk: key, id, name, priority: 0, candidates });
  }
  return pairs;
}

function localEndpointKey({ reader, ownId }: ActivationDeps): number {
  return reader.one<{ pk: number }>("SELECT pk FROM endpoints WHERE id = ?", ownId())?.pk ?? 0;
}

/** At most 200 groups with at most 100 appliances each. */
function readRankedGroups({ reader, isReachable }: ActivationDeps): RankedGroupCandidates[] {
  const groups = new Map<string, RankedGroupCandidates>();
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

function idsOf(groups: readonly RankedGroupCandidates[]): string[] {
  return groups.map(({ id }) => id);
}

function groupOf(
  device: number,
  groups: readonly RankedGroupCandidates[],
  { get: of, slots }: GroupSets,
): RankedGroupCandidates | null {
  const place = slots.slotOfKey(device);
  if (place === undefined) return null;
  return groups.find(({ id }) => hasMember(of(id) ?? emptySet(), place)) ?? null;
}

function candidateKeyOf(endpointId: string, group: RankedGroupCandidates | null): number {
  return group?.candidates.find((candidate) => candidate.endpointId === endpointId)?.pk ?? 0;
}

const idsOfCandidates = ({ candidates }: RankedGroupCandidates): string[] =>
  candidates.map(({ endpointId }) => endpointId);

function firstReachable({ candidates }: RankedGroupCandidates): RankedGroupCandidates["candidates"][number] | null {
  return candidates.find(({ reachable }) => reachable) ?? null;
}

function activationByGroup(group: RankedGroupCandidates): Activation {
  const chosen = firstReachable(group);
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
function activationByServingEndpoint(endpointId: string, { reader, isReachable }: ActivationDeps): Activation {
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
