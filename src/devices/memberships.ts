import { nextTurn } from "../base/clock.ts";
import type { Events } from "../base/events.ts";
import type { FilterableDevice } from "./device-filter.ts";
import {
  createPlaces,
  type DevicePlaces,
  type DeviceSet,
  emptySet,
  setMember,
  setWord,
  unionOf,
} from "./device-sets.ts";
import type { CompiledGroup } from "./group-definition.ts";
import { DEVICE_COLUMNS, type DeviceLine, deviceOf, type GroupNeeds, readDevices, SLICE_MS } from "./group-scan.ts";
import { createStoredGroups, type GroupSource } from "./stored-groups.ts";

/** What memberships are made of. */
export interface MembershipNeeds extends GroupNeeds {
  events: Events;
  source: GroupSource;
  onError(error: unknown): void;
}

/** What is known of groups at one moment; good until the next turn of the event loop. */
export interface GroupSets {
  /** Undefined for an unknown group. */
  of(groupId: string): DeviceSet | undefined;
  places: DevicePlaces;
}

/** Remembers which devices stored groups have, and follows every change of groups and devices. */
export interface Memberships {
  /** Calls `use` at a moment when these groups are known as they are; what is not known is found in slices of at most 10 ms. */
  whenKnown<T>(groupIds: readonly string[], use: (sets: GroupSets) => T): Promise<T>;
  /** The same at once; null when finding out takes longer than `longestMs`. */
  ifKnown<T>(groupIds: readonly string[], longestMs: number, use: (sets: GroupSets) => T): T | null;
  /** Internal keys of the distinct devices in at least one of the groups, ascending; defunct ones are left out. */
  members(groupIds: readonly string[]): Promise<number[]>;
  /** Ids of the groups that a device is in; none for an unknown or defunct one. */
  groupsOf(deviceId: string): Promise<string[]>;
  /** Stops following. */
  stop(): void;
}

interface Entry {
  group: CompiledGroup;
  set: DeviceSet;
  isWhole: boolean;
}

interface PlacedDevice {
  place: number;
  device: FilterableDevice;
}

/** Asks an entry about devices; those whose places share a word of its set are written at once. */
function askAbout({ group, set }: Entry, devices: readonly PlacedDevice[]): void {
  let [word, mask, ones] = [0, 0, 0];
  for (const { place, device } of devices) {
    if (place >>> 5 !== word) {
      setWord(set, word, mask, ones);
      [word, mask, ones] = [place >>> 5, 0, 0];
    }
    const bit = 1 << (place & 31);
    mask |= bit;
    if (group.contains(device)) ones |= bit;
  }
  setWord(set, word, mask, ones);
}

/** Something done in slices: true once it is done, false when the time was over before. */
type Step = (until: number) => boolean;

/** One change of a device that entries are being told of; `next` is the entry to be told next. */
interface Telling {
  id: string;
  change: number;
  told: readonly Entry[];
  next: number;
}

/** Groups asked about one device before looking at the clock. */
const ASKED_AT_ONCE = 16;
/** Devices that a group is asked about in a row: as many as stand in a word of its set. */
const BLOCK = 32;
/** What the sets of all groups may take together; those not used for the longest time go. own choice */
const MOST_BYTES = 48 * 1_048_576;
/** Between two slices that nobody waits for. own choice */
const REST_MS = 20;

/** Makes it; nothing is read before somebody asks. */
export function createMemberships(needs: MembershipNeeds): Memberships {
  const { reader, clock, events, source } = needs;
  const groups = createStoredGroups(reader, source);
  const entries = new Map<string, Entry>();
  /** Devices that not all entries have been told of, with the number of the change; the latest last. */
  const changed = new Map<string, number>();
  let places = createPlaces();
  let changes = 0;
  let isDraining = false;
  let isStopped = false;

  const isOver = (until: number): boolean => clock.monotonicMs() >= until;
  const readGroups: Step = (until) =>
    groups.read(
      () => isOver(until),
      (id) => entries.delete(id),
    );

  const stopFollowing = [
    events.on("row.changed", ({ resource, id }) => {
      if (resource === source.resource) groups.touch(id);
      if (resource !== "devices" || entries.size === 0) return;
      changed.delete(id);
      changed.set(id, ++changes);
      drainSoon();
    }),
    events.on("batch.shown", ({ resources }) => {
      if (resources.includes(source.resource)) groups.touchAll();
      if (!resources.includes("devices")) return;
      entries.clear();
      changed.clear();
      places = createPlaces();
    }),
  ];

  /** Asks entries about one device, from one of them on; answers the next one to be asked. */
  function ask(line: DeviceLine, asked: readonly Entry[], from: number, until: number): number {
    const place = places.take(line);
    const device = deviceOf(line);
    for (let at = from; at < asked.length; at++) {
      const { group, set } = asked[at] as Entry;
      setMember(set, place, group.contains(device));
      if (at % ASKED_AT_ONCE === ASKED_AT_ONCE - 1 && isOver(until)) return at + 1;
    }
    return asked.length;
  }

  /**
   * Asks entries about every device: one after the other about all devices of a block, then of the next one. A block that
   * a pause cuts in two is read again, so that each device is asked about as it is.
   */
  function filling(asked: readonly Entry[]): Step {
    let after = 0;
    let upTo: number | null = null;
    let next = 0;
    /** Key up to which the entry that is next was asked. */
    let askedUpTo = 0;
    return (until) => {
      for (;;) {
        const block = readDevices(reader, after, { most: BLOCK, ...(upTo === null ? {} : { upTo }) }).map(placed);
        upTo ??= block.at(-1)?.device.pk ?? null;
        if (upTo === null) break;
        while (next < asked.length) {
          const entry = asked[next] as Entry;
          if (!entry.group.isCostly) askAbout(entry, block);
          else {
            for (const each of block) {
              if (each.device.pk <= askedUpTo) continue;
              askAbout(entry, [each]);
              askedUpTo = each.device.pk;
              if (isOver(until)) return false;
            }
          }
          [next, askedUpTo] = [next + 1, 0];
          if (isOver(until)) return false;
        }
        [after, upTo, next] = [upTo, null, 0];
      }
      for (const entry of asked) entry.isWhole = true;
      return true;
    };
  }

  const placed = (line: DeviceLine): PlacedDevice => ({ place: places.take(line), device: deviceOf(line) });

  /** Tells entries of the devices that changed; `settles` when nobody needs to be told of them again. */
  function following(asked: () => readonly Entry[], settles: boolean): Step {
    let upTo = 0;
    let telling: Telling | null = null;
    return (until) => {
      for (const [id, change] of changed) {
        if (change <= upTo) continue;
        if (telling?.change !== change) telling = { id, change, told: asked(), next: 0 };
        telling.next = tell(telling, until);
        if (telling.next < telling.told.length) return false;
        upTo = change;
        if (settles) settle(id);
        if (isOver(until)) return false;
      }
      return true;
    };
  }

  function tell({ id, told, next }: Telling, until: number): number {
    const line = lineOf(id);
    if (line) return ask(line, told, next, until);
    const place = places.find(id);
    if (place !== undefined) for (const { set } of told) setMember(set, place, false);
    return told.length;
  }

  /** Null for a device that no group has: one that is gone or defunct. */
  function lineOf(id: string): DeviceLine | null {
    return reader.one<DeviceLine>(`SELECT ${DEVICE_COLUMNS} FROM devices WHERE id = ? AND defunct IS NOT 1`, id);
  }

  function settle(id: string): void {
    changed.delete(id);
    if (!lineOf(id)) places.free(id);
  }

  /** Tells every entry of what changed, so that the next who asks needs not wait. */
  function drainSoon(): void {
    if (isDraining) return;
    isDraining = true;
    const step = following(() => [...entries.values()], true);
    const drain = (): void => {
      try {
        isDraining = !isStopped && !step(clock.monotonicMs() + SLICE_MS);
        if (isDraining) clock.after(REST_MS, drain, { background: true });
      } catch (error) {
        isDraining = false;
        needs.onError(error);
      }
    };
    clock.after(REST_MS, drain, { background: true });
  }

  /** Brings some groups up to date; what others do meanwhile does not hold it up. */
  function bringUp(groupIds: readonly string[]): Step {
    let fill: Step | null = null;
    const follow = following(() => groupIds.flatMap((id) => entries.get(id) ?? []), false);
    return (until) => {
      for (;;) {
        if (!readGroups(until)) return false;
        if (fill && !fill(until)) return false;
        fill = null;
        const missing = groupIds.filter((id) => groups.compiled.has(id) && entries.get(id)?.isWhole !== true);
        if (missing.length === 0) return follow(until);
        fill = filling(missing.map(entryFor));
      }
    };
  }

  function entryFor(id: string): Entry {
    const known = entries.get(id);
    if (known) return known;
    const entry: Entry = {
      group: groups.compiled.get(id) as CompiledGroup,
      set: emptySet(places.size),
      isWhole: false,
    };
    entries.set(id, entry);
    return entry;
  }

  /** Notes what was used, and lets go of what was not. */
  function used(groupIds: readonly string[]): void {
    let bytes = 0;
    for (const { set } of entries.values()) bytes += set.words.byteLength;
    if (bytes < MOST_BYTES / 2) return;
    for (const id of groupIds) {
      const entry = entries.get(id);
      if (!entry) continue;
      entries.delete(id);
      entries.set(id, entry);
    }
    for (const [id, { set, isWhole }] of entries) {
      if (bytes <= MOST_BYTES || groupIds.includes(id)) break;
      if (!isWhole) continue;
      entries.delete(id);
      bytes -= set.words.byteLength;
    }
  }

  function known(groupIds: readonly string[]): GroupSets {
    used(groupIds);
    return { of: (id) => entries.get(id.toLowerCase())?.set, places };
  }

  async function whenKnown<T>(groupIds: readonly string[], use: (sets: GroupSets) => T): Promise<T> {
    const ids = inLowerCase(groupIds);
    const step = bringUp(ids);
    while (!step(clock.monotonicMs() + SLICE_MS)) await nextTurn(clock);
    return use(known(ids));
  }

  return {
    whenKnown,
    ifKnown(groupIds, longestMs, use) {
      const ids = inLowerCase(groupIds);
      return bringUp(ids)(clock.monotonicMs() + longestMs) ? use(known(ids)) : null;
    },
    async members(groupIds) {
      if (groupIds.length === 0) return [];
      return whenKnown(groupIds, (sets) => sets.places.keysOf(unionOf(groupIds.flatMap((id) => sets.of(id) ?? []))));
    },
    async groupsOf(deviceId) {
      while (!readGroups(clock.monotonicMs() + SLICE_MS)) await nextTurn(clock);
      const line = lineOf(deviceId);
      const device = line && deviceOf(line);
      const found: string[] = [];
      let until = clock.monotonicMs() + SLICE_MS;
      for (const [id, group] of [...groups.compiled]) {
        if (device && group.contains(device)) found.push(id);
        if (!isOver(until)) continue;
        await nextTurn(clock);
        until = clock.monotonicMs() + SLICE_MS;
      }
      return found;
    },
    stop() {
      isStopped = true;
      for (const off of stopFollowing) off();
    },
  };
}

function inLowerCase(groupIds: readonly string[]): string[] {
  return [...new Set(groupIds.map((id) => id.toLowerCase()))];
}
