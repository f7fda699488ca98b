import { yieldToEventLoop } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import { createTimeSlice } from "../lib/time-slice.ts";
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

export interface GroupMembershipDeps extends GroupScanDeps {
  events: Events;
  source: GroupSource;
  onError(error: unknown): void;
}

/** A consistent view of group members; valid until the next turn of the event loop. */
export interface GroupSets {
  /** Undefined for an unknown group. */
  get(groupId: string): DeviceSet | undefined;
  slots: DeviceSlots;
}

/** Caches the members of stored groups and follows every change of groups and devices. */
export interface GroupMemberships {
  /** Calls `use` when the members of these groups are up to date; missing members are computed in slices of at most 10 ms. */
  withGroupSets<T>(groupIds: readonly string[], use: (sets: GroupSets) => T): Promise<T>;
  /** As `withGroupSets`, but synchronous; null if computing takes longer than `longestMs`. */
  tryWithGroupSets<T>(groupIds: readonly string[], longestMs: number, use: (sets: GroupSets) => T): T | null;
  /** Internal keys, ascending, of the distinct devices in at least one of the groups; defunct devices are excluded. */
  members(groupIds: readonly string[]): Promise<number[]>;
  /** Ids of the groups of a device; empty for an unknown or defunct device. */
  groupsOf(deviceId: string): Promise<string[]>;
  /** Stops following changes. */
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

/** Evaluates a group for devices that share one word of its set, and writes that word once. */
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

/** A step in slices: true when it is complete, false when the time slice ended first. */
type ChunkedStep = (until: number) => boolean;

/** A device change that is being applied; `next` is the index of the next entry. */
interface PendingDeviceChange {
  id: string;
  change: number;
  entries: readonly MembershipEntry[];
  next: number;
}

/** Groups evaluated for one device between two checks of the clock. */
const GROUPS_PER_CHECK = 16;
/** Devices evaluated in a row for a group: the slots of one word of its set. */
const BLOCK_SIZE = 32;
/** Memory limit of all sets; the least recently used are evicted. @source docs/decisions/0201-device-groups-and-filters.md, Counts and caches */
const MAX_CACHE_BYTES = 48 * 1_048_576;
/** Pause between background slices. @source docs/decisions/0201-device-groups-and-filters.md, Counts and caches */
const PAUSE_MS = 20;

/** Creates the cache; nothing is read before the first request. */
export function createGroupMemberships(deps: GroupMembershipDeps): GroupMemberships {
  const { reader, clock, events, source } = deps;
  const groups = createStoredGroups(reader, source);
  const entries = new Map<string, MembershipEntry>();
  /** Devices with changes that are not applied to all entries, with the number of the change; the latest last. */
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

  /** Evaluates entries for one device, from an index on; returns the index of the next entry. */
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
   * Fills entries block by block: every entry for the devices of one block, then the next block. A block that a pause
   * interrupts is read again, so that each device is evaluated in its current state.
   */
  function fillEntries(asked: readonly MembershipEntry[]): ChunkedStep {
    let after = 0;
    let upTo: number | null = null;
    let next = 0;
    /** Key up to which the next entry was evaluated. */
    let askedUpTo = 0;
    return (until) => {
      for (;;) {
        const block = readDevices(reader, after, { limit: BLOCK_SIZE, ...(upTo === null ? {} : { upTo }) }).map(
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

  /** Applies device changes to entries; `settles` if no other entry needs them. */
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

  function applyDeviceChange({ id, entries: applied, next }: PendingDeviceChange, until: number): number {
    const line = readDeviceRow(id);
    if (line) return evaluateDevice(line, applied, next, until);
    const place = slots.slotOfId(id);
    if (place !== undefined) for (const { set } of applied) setMember(set, place, false);
    return applied.length;
  }

  /** Null for a device that is in no group: deleted or defunct. */
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

  /** Applies changes to all entries in the background, so that the next request need not wait. */
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
        deps.onError(error);
      }
    };
    clock.after(PAUSE_MS, drain, { background: true });
  }

  /** Brings some groups up to date; changes that arrive during the work do not delay it. */
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

  /** Marks entries as used and evicts the least recently used. */
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
      const slice = createTimeSlice(clock, { sliceMs: TIME_SLICE_MS });
      for (const [id, group] of [...groups.compiled]) {
        if (device && group.contains(device)) found.push(id);
        if (slice.isOver()) await slice.next();
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
