import { yieldToEventLoop } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import {
  createDeviceSlots,
  type DeviceSet,
  type DeviceSlots,
  emptySet,
  setMember,
  setWord,
  unionOf,
} from "./device-bitsets.ts";
import type { FilterableDevice } from "./device-filter.ts";
import type { CompiledGroup } from "./group-definition.ts";
import {
  FILTER_DEVICE_COLUMNS,
  type FilterDeviceRow,
  type GroupScanDeps,
  readDevices,
  TIME_SLICE_MS,
  toFilterableDevice,
} from "./group-scan.ts";
import { createStoredGroups, type GroupSource } from "./stored-groups.ts";

/** What memberships are made of. */
export interface GroupMembershipDeps extends GroupScanDeps {
  events: Events;
  source: GroupSource;
  onError(error: unknown): void;
}

/** What is known of groups at one moment; good until the next turn of the event loop. */
export interface GroupSets {
  /** Undefined for an unknown group. */
  get(groupId: string): DeviceSet | undefined;
  slots: DeviceSlots;
}

/** Remembers which devices stored groups have, and follows every change of groups and devices. */
export interface GroupMemberships {
  /** Calls `use` at a moment when these groups are known as they are; what is not known is found in slices of at most 10 ms. */
  withGroupSets<T>(groupIds: readonly string[], use: (sets: GroupSets) => T): Promise<T>;
  /** The same at once; null when finding out takes longer than `longestMs`. */
  tryWithGroupSets<T>(groupIds: readonly string[], longestMs: number, use: (sets: GroupSets) => T): T | null;
  /** Internal keys of the distinct devices in at least one of the groups, ascending; defunct ones are left out. */
  members(groupIds: readonly string[]): Promise<number[]>;
  /** Ids of the groups that a device is in; none for an unknown or defunct one. */
  groupsOf(deviceId: string): Promise<string[]>;
  /** Stops following. */
  stop(): void;
}

interface MembershipEntry {
  group: CompiledGroup;
  set: DeviceSet;
  isComplete: boolean;
}

interface SlottedDevice {
  slot: number;
  device: FilterableDevice;
}

/** Asks an entry about devices; those whose places share a word of its set are written at once. */
function evaluateEntry({ group, set }: MembershipEntry, devices: readonly SlottedDevice[]): void {
  let [word, mask, ones] = [0, 0, 0];
  for (const { slot, device } of devices) {
    if (slot >>> 5 !== word) {
      setWord(set, word, mask, ones);
      [word, mask, ones] = [slot >>> 5, 0, 0];
    }
    const bit = 1 << (slot & 31);
    mask |= bit;
    if (group.contains(device)) ones |= bit;
  }
  setWord(set, word, mask, ones);
}

/** Something done in slices: true once it is done, false when the time was over before. */
type ChunkedStep = (until: number) => boolean;

/** One change of a device that entries are being told of; `next` is the entry to be told next. */
interface PendingDeviceChange {
  id: string;
  change: number;
  entries: readonly MembershipEntry[];
  next: number;
}

/** Groups asked about one device before looking at the clock. */
const GROUPS_PER_CHECK = 16;
/** Devices that a group is asked about in a row: as many as stand in a word of its set. */
const BLOCK_SIZE = 32;
/** What the sets of all groups may take together; those not used for the longest time go. own choice */
const MAX_CACHE_BYTES = 48 * 1_048_576;
/** Between two slices that nobody waits for. own choice */
const PAUSE_MS = 20;

/** Makes it; nothing is read before somebody asks. */
export function createGroupMemberships(needs: GroupMembershipDeps): GroupMemberships {
  const { reader, clock, events, source } = needs;
  const groups = createStoredGroups(reader, source);
  const entries = new Map<string, MembershipEntry>();
  /** Devices that not all entries have been told of, with the number of the change; the latest last. */
  const changed = new Map<string, number>();
  let slots = createDeviceSlots();
  let changes = 0;
  let isDraining = false;
  let isStopped = false;

  const isOver = (until: number): boolean => clock.monotonicMs() >= until;
  const readGroups: ChunkedStep = (until) =>
    groups.loadChanges(
      () => isOver(until),
      (id) => entries.delete(id),
    );

  const stopFollowing = [
    events.on("row.changed", ({ resource, id }) => {
      if (resource === source.resource) groups.invalidate(id);
      if (resource !== "devices" || entries.size === 0) return;
      changed.delete(id);
      changed.set(id, ++changes);
      scheduleDrain();
    }),
    events.on("batch.published", ({ resources }) => {
      if (resources.includes(source.resource)) groups.invalidateAll();
      if (!resources.includes("devices")) return;
      entries.clear();
      changed.clear();
      slots = createDeviceSlots();
    }),
  ];

  /** Asks entries about one device, from one of them on; answers the next one to be asked. */
  function evaluateDevice(
    line: FilterDeviceRow,
    asked: readonly MembershipEntry[],
    from: number,
    until: number,
  ): number {
    const place = slots.assign(line);
    const device = toFilterableDevice(line);
    for (let at = from; at < asked.length; at++) {
      const { group, set } = asked[at] as MembershipEntry;
      setMember(set, place, group.contains(device));
      if (at % GROUPS_PER_CHECK === GROUPS_PER_CHECK - 1 && isOver(until)) return at + 1;
    }
    return asked.length;
  }

  /**
   * Asks entries about every device: one after the other about all devices of a block, then of the next one. A block that
   * a pause cuts in two is read again, so that each device is asked about as it is.
   */
  function fillEntries(asked: readonly MembershipEntry[]): ChunkedStep {
    let after = 0;
    let upTo: number | null = null;
    let next = 0;
    /** Key up to which the entry that is next was asked. */
    let askedUpTo = 0;
    return (until) => {
      for (;;) {
        const block = readDevices(reader, after, { most: BLOCK_SIZE, ...(upTo === null ? {} : { upTo }) }).map(
          toSlottedDevice,
        );
        upTo ??= block.at(-1)?.device.pk ?? null;
        if (upTo === null) break;
        while (next < asked.length) {
          const entry = asked[next] as MembershipEntry;
          if (!entry.group.isCostly) evaluateEntry(entry, block);
          else {
            for (const each of block) {
              if (each.device.pk <= askedUpTo) continue;
              evaluateEntry(entry, [each]);
              askedUpTo = each.device.pk;
              if (isOver(until)) return false;
            }
          }
          [next, askedUpTo] = [next + 1, 0];
          if (isOver(until)) return false;
        }
        [after, upTo, next] = [upTo, null, 0];
      }
      for (const entry of asked) entry.isComplete = true;
      return true;
    };
  }

  const toSlottedDevice = (line: FilterDeviceRow): SlottedDevice => ({
    slot: slots.assign(line),
    device: toFilterableDevice(line),
  });

  /** Tells entries of the devices that changed; `settles` when nobody needs to be told of them again. */
  function applyDeviceChanges(asked: () => readonly MembershipEntry[], settles: boolean): ChunkedStep {
    let upTo = 0;
    let telling: PendingDeviceChange | null = null;
    return (until) => {
      for (const [id, change] of changed) {
        if (change <= upTo) continue;
        if (telling?.change !== change) telling = { id, change, entries: asked(), next: 0 };
        telling.next = applyDeviceChange(telling, until);
        if (telling.next < telling.entries.length) return false;
        upTo = change;
        if (settles) finishDeviceChange(id);
        if (isOver(until)) return false;
      }
      return true;
    };
  }

  function applyDeviceChange({ id, entries: told, next }: PendingDeviceChange, until: number): number {
    const line = readDeviceRow(id);
    if (line) return evaluateDevice(line, told, next, until);
    const place = slots.slotOfId(id);
    if (place !== undefined) for (const { set } of told) setMember(set, place, false);
    return told.length;
  }

  /** Null for a device that no group has: one that is gone or defunct. */
  function readDeviceRow(id: string): FilterDeviceRow | null {
    return reader.one<FilterDeviceRow>(
      `SELECT ${FILTER_DEVICE_COLUMNS} FROM devices WHERE id = ? AND defunct IS NOT 1`,
      id,
    );
  }

  function finishDeviceChange(id: string): void {
    changed.delete(id);
    if (!readDeviceRow(id)) slots.release(id);
  }

  /** Tells every entry of what changed, so that the next who asks needs not wait. */
  function scheduleDrain(): void {
    if (isDraining) return;
    isDraining = true;
    const step = applyDeviceChanges(() => [...entries.values()], true);
    const drain = (): void => {
      try {
        isDraining = !isStopped && !step(clock.monotonicMs() + TIME_SLICE_MS);
        if (isDraining) clock.after(PAUSE_MS, drain, { background: true });
      } catch (error) {
        isDraining = false;
        needs.onError(error);
      }
    };
    clock.after(PAUSE_MS, drain, { background: true });
  }

  /** Brings some groups up to date; what others do meanwhile does not hold it up. */
  function bringUpToDate(groupIds: readonly string[]): ChunkedStep {
    let fill: ChunkedStep | null = null;
    const follow = applyDeviceChanges(() => groupIds.flatMap((id) => entries.get(id) ?? []), false);
    return (until) => {
      for (;;) {
        if (!readGroups(until)) return false;
        if (fill && !fill(until)) return false;
        fill = null;
        const missing = groupIds.filter((id) => groups.compiled.has(id) && entries.get(id)?.isComplete !== true);
        if (missing.length === 0) return follow(until);
        fill = fillEntries(missing.map(entryFor));
      }
    };
  }

  function entryFor(id: string): MembershipEntry {
    const known = entries.get(id);
    if (known) return known;
    const entry: MembershipEntry = {
      group: groups.compiled.get(id) as CompiledGroup,
      set: emptySet(slots.size),
      isComplete: false,
    };
    entries.set(id, entry);
    return entry;
  }

  /** Notes what was used, and lets go of what was not. */
  function touchAndEvict(groupIds: readonly string[]): void {
    let bytes = 0;
    for (const { set } of entries.values()) bytes += set.words.byteLength;
    if (bytes < MAX_CACHE_BYTES / 2) return;
    for (const id of groupIds) {
      const entry = entries.get(id);
      if (!entry) continue;
      entries.delete(id);
      entries.set(id, entry);
    }
    for (const [id, { set, isComplete }] of entries) {
      if (bytes <= MAX_CACHE_BYTES || groupIds.includes(id)) break;
      if (!isComplete) continue;
      entries.delete(id);
      bytes -= set.words.byteLength;
    }
  }

  function currentSets(groupIds: readonly string[]): GroupSets {
    touchAndEvict(groupIds);
    return { get: (id) => entries.get(id.toLowerCase())?.set, slots };
  }

  async function withGroupSets<T>(groupIds: readonly string[], use: (sets: GroupSets) => T): Promise<T> {
    const ids = toLowerCaseIds(groupIds);
    const step = bringUpToDate(ids);
    while (!step(clock.monotonicMs() + TIME_SLICE_MS)) await yieldToEventLoop(clock);
    return use(currentSets(ids));
  }

  return {
    withGroupSets,
    tryWithGroupSets(groupIds, longestMs, use) {
      const ids = toLowerCaseIds(groupIds);
      return bringUpToDate(ids)(clock.monotonicMs() + longestMs) ? use(currentSets(ids)) : null;
    },
    async members(groupIds) {
      if (groupIds.length === 0) return [];
      return withGroupSets(groupIds, (sets) =>
        sets.slots.keysOf(unionOf(groupIds.flatMap((id) => sets.get(id) ?? []))),
      );
    },
    async groupsOf(deviceId) {
      while (!readGroups(clock.monotonicMs() + TIME_SLICE_MS)) await yieldToEventLoop(clock);
      const line = readDeviceRow(deviceId);
      const device = line && toFilterableDevice(line);
      const found: string[] = [];
      let until = clock.monotonicMs() + TIME_SLICE_MS;
      for (const [id, group] of [...groups.compiled]) {
        if (device && group.contains(device)) found.push(id);
        if (!isOver(until)) continue;
        await yieldToEventLoop(clock);
        until = clock.monotonicMs() + TIME_SLICE_MS;
      }
      return found;
    },
    stop() {
      isStopped = true;
      for (const off of stopFollowing) off();
    },
  };
}

function toLowerCaseIds(groupIds: readonly string[]): string[] {
  return [...new Set(groupIds.map((id) => id.toLowerCase()))];
}
