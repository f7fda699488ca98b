import { yieldToEventLoop } from "../lib/clock.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { StoreReader } from "../store/store.ts";
import { type DeviceSet, differenceOf, emptySet, hasMember, unionOf } from "./device-bitsets.ts";
import { countByDeviceType, type DeviceCounts } from "./group-counts.ts";
import type { GroupMemberships, GroupSets } from "./group-memberships.ts";
import type { GroupScanDeps } from "./group-scan.ts";

/** Pseudo group id for devices that only this appliance may activate. */
export const UNSHARED_GROUP_ID = "";

export interface ActivationDeps extends GroupScanDeps {
  /** Members of the activation groups. */
  groupMemberships: GroupMemberships;
  /** True if an appliance can activate devices now. */
  isReachable(endpointId: string): boolean;
  /** Endpoint id of this appliance. */
  ownId(): string;
  /**
   * Assigns the part of a message that belongs to an activation group or failover pair: the id of the appliance on duty, and
   * a key that is equal for groups with the same assignment. The key is this appliance's own id for groups that it has on
   * duty and that no other appliance has played.
   */
  shareOut(messageId: string, groupId: string): { holder: string; equivalenceKey: string };
}

/** An appliance that may activate a device. */
export interface ActivationCandidate {
  endpointId: string;
  endpointName: string | null;
  reachable: boolean;
}

/** The appliance that would activate a device now. */
export interface Activation {
  /** The activation group of the device; null if none matches. */
  activationGroupId: string | null;
  activationGroupName: string | null;
  /** The appliance; null if no appliance of the group is reachable. */
  endpointId: string | null;
  endpointName: string | null;
  /** Human-readable explanation. */
  reason: string;
  /** Appliances that may activate the device, in failover order. */
  candidates: ActivationCandidate[];
}

/** Decides which appliance activates which devices. @source docs/decisions/0011-device-groups.md, Activation groups */
export interface Activations {
  /** The appliance that would activate a device now; the one that serves it if no group matches. */
  activationOf(device: { pk: number; endpointId: string }): Promise<Activation>;
  /** Ids of the groups that match a device; the effective group comes first. */
  groupsOf(deviceId: string): Promise<string[]>;
  /**
   * Those of the devices (internal keys) that are activated by another appliance than the one that serves them, with the
   * internal key of that appliance; 0 if no appliance of the group is reachable.
   */
  activatedElsewhere(devices: readonly number[]): Promise<[device: number, endpoint: number][]>;
  /**
   * Ids of the appliances that may activate each device (internal keys), in failover order; devices without an activation
   * group or failover pair are absent.
   */
  candidateEndpoints(devices: readonly number[]): Promise<Map<number, readonly string[]>>;
  /**
   * Selects the devices (internal keys) that this appliance takes on. A message that only this appliance has goes to all
   * devices that it may activate. A message that all appliances have (`sharedId`: its id) goes to the devices that this
   * appliance has on duty; if there are none, to those of groups with the same assignment, in case of a failover. `sharedGroupIds`:
   * ids of the groups and failover pairs here whose devices other appliances may activate too, and `UNSHARED_GROUP_ID`.
   * `delegatedGroupIds`: ids of those whose devices only others take on although this appliance may activate them. `activatedElsewhere` as above.
   */
  shareDevices(devices: readonly number[], sharedId: string | null): Promise<DeviceShare>;
  /** Those of the devices (internal keys) that are in one of these groups or failover pairs; `UNSHARED_GROUP_ID` selects the devices of this appliance alone. */
  devicesWithin(devices: readonly number[], groupIds: readonly string[]): Promise<number[]>;
  /**
   * Internal keys, ascending, of the devices whose effective group `chosen` selects; with `anyRank` of all devices that such a
   * group matches. The group `except` is ignored. Defunct devices are in no group.
   */
  devicesInGroups(
    chosen: (group: RankedGroup) => boolean,
    options?: { anyRank?: boolean; except?: string },
  ): Promise<number[]>;
}

export interface DeviceShare {
  activatedElsewhere: [device: number, endpoint: number][];
  sharedGroupIds: string[];
  delegatedGroupIds: string[];
}

/** An activation group with its rank. */
export interface RankedGroup {
  pk: number;
  id: string;
  priority: number;
  /** Ids of the appliances that may activate its devices. */
  endpointIds: readonly string[];
}

/** Candidates of an activation group, in priority order. */
interface RankedGroupCandidates {
  pk: number;
  id: string;
  name: string;
  priority: number;
  candidates: (ActivationCandidate & { pk: number })[];
}

/** A device and the appliance that serves it (internal keys), with its activation group or failover pair. */
interface GroupedDevice {
  pk: number;
  endpoint: number;
  group: RankedGroupCandidates | null;
}

/** Devices per lookup: some ms. */
const LOOKUP_CHUNK_SIZE = 2_000;

export function createActivations(deps: ActivationDeps): Activations {
  const { reader, clock, groupMemberships } = deps;
  const loadRankedGroups = (): RankedGroupCandidates[] => readRankedGroups(deps);

  /** Calls `found` for each device with its group or failover pair, in chunks. */
  async function eachGroupedDevice(devices: readonly number[], found: (device: GroupedDevice) => void): Promise<void> {
    const groups = loadRankedGroups();
    const pairs = pairsByPrimary(deps);
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
    candidates.some(({ endpointId }) => endpointId === deps.ownId());
  /** Group or failover pair through which other appliances may activate a device of this one; null if this appliance may not activate it. */
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
      return group ? activationByGroup(group) : activationByServingEndpoint(endpointId, deps);
    },
    async groupsOf(deviceId) {
      const describing = new Set(await groupMemberships.groupsOf(deviceId));
      return idsOf(loadRankedGroups()).filter((id) => describing.has(id));
    },
    async activatedElsewhere(devices) {
      const found: [number, number][] = [];
      await eachGroupedDevice(devices, (device) => {
        const acting =
          device.group && isLocalCandidate(device.group) ? localEndpointKey(deps) : activatingEndpoint(device);
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
      const [own, ownId] = [localEndpointKey(deps), deps.ownId()];
      const ownShare = { holder: ownId, equivalenceKey: ownId };
      const shares = new Map<string, typeof ownShare>();
      const shareOf = (device: GroupedDevice): typeof ownShare | null => {
        const cover = sharedGroupOf(device, own);
        if (cover === null || sharedId === null) return cover === null ? null : ownShare;
        const share = shares.get(cover) ?? (cover === UNSHARED_GROUP_ID ? ownShare : deps.shareOut(sharedId, cover));
        shares.set(cover, share);
        return share;
      };
      const placed: (GroupedDevice & { share: typeof ownShare | null })[] = [];
      await eachGroupedDevice(devices, (device) => void placed.push({ ...device, share: shareOf(device) }));
      // A failover for groups of other appliances is a separate notification, never a part of one that is already playing.
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
      const own = localEndpointKey(deps);
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

/** The assignment key that an appliance takes on: its own id if present, else the first. */
export function selectLikeness(likes: readonly string[], ownId: string): string | undefined {
  return likes.includes(ownId) ? ownId : likes[0];
}

/** Number of devices per group; a device counts in the first group that matches it. */
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

/** Ids of all activation groups in priority order. @source docs/decisions/0011-device-groups.md, Activation groups */
export function activationGroupOrder(reader: StoreReader): string[] {
  return reader.all<{ id: string }>("SELECT id FROM activation_groups ORDER BY priority, pk").map(({ id }) => id);
}

/** Failover pairs by the internal key of the primary appliance; they apply to devices that no activation group matches. */
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

/** At most 200 groups of at most 100 appliances. */
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
    ? sentence("activation.none-reachable", { group: group.name })
    : before === 0
      ? sentence("activation.first", { group: group.name })
      : sentence("activation.first-reachable", { group: group.name, before });
  return {
    ...{ activationGroupId: group.id, activationGroupName: group.name, reason },
    ...{ endpointId: chosen?.endpointId ?? null, endpointName: chosen?.endpointName ?? null },
    candidates: group.candidates.map(({ pk: _key, ...candidate }) => candidate),
  };
}

/** A device that no activation group matches is activated by the appliance that serves it. */
function activationByServingEndpoint(endpointId: string, { reader, isReachable }: ActivationDeps): Activation {
  const name = reader.one<{ name: string | null }>("SELECT name FROM endpoints WHERE id = ?", endpointId)?.name ?? null;
  const reachable = isReachable(endpointId);
  return {
    ...{ activationGroupId: null, activationGroupName: null },
    ...{ endpointId: reachable ? endpointId : null, endpointName: reachable ? name : null },
    reason: reachable ? sentence("activation.by-own") : sentence("activation.own-unreachable"),
    candidates: [{ endpointId, endpointName: name, reachable }],
  };
}
