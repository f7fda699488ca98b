import type { Clock } from "../base/clock.ts";
import type { Memberships } from "../devices/memberships.ts";
import type { RingListEntry } from "../resources/bells/bell-parts.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import { tableOf } from "../schema/catalogue.ts";
import type { Reader, Sight } from "../store/store.ts";
import { dateOf } from "./local-times.ts";
import { eachRing } from "./rings.ts";
import { type BellTimes, compileTimetable, type Timetable, timetablesOf } from "./timetables.ts";

/** Two rings that come at one instant and share devices. */
export interface Overlap {
  /** Epoch ms. */
  at: number;
  localDate: string;
  localTime: string;
  bellScheduleId: string;
  entryId: string;
  messageTemplateId: string;
  /** The other one. */
  other: { bellScheduleId: string; entryId: string; messageTemplateId: string };
  /** How many devices are to ring twice. */
  devices: number;
}

/** What finding overlaps needs; `sight` says whose schedules are looked at. */
export interface OverlapNeeds {
  reader: Reader;
  clock: Clock;
  times: BellTimes;
  sight: Sight;
  memberships: Pick<Memberships, "members">;
}

/** What else may be said of a search for overlaps. */
export interface OverlapOptions {
  /** Names, as `overlapName` makes them, of overlaps that are not told. */
  except?: ReadonlySet<string>;
  /** Schedules that are looked at as they are to become; null for those that go. */
  instead?: ReadonlyMap<string, Timetable | null>;
  /** 100 unless given. */
  most?: number;
}

interface Placed {
  bellScheduleId: string;
  entry: RingListEntry;
  day: number;
}

/** Schedules read between two turns of the event loop. */
const AT_ONCE = 50;
/** own choice */
const MOST_OVERLAPS = 100;

/**
 * Rings of a timetable, from `fromMs` (included) to `toMs` (not included), that come at the instant of another ring, its own
 * or of another schedule, on a device of both; in order of time, the first 100. Devices are those of groups.
 * @source bells.md, Running: the editor warns of overlaps
 */
export async function overlapsOf(
  timetable: Timetable,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  needs: OverlapNeeds,
  { except = new Set(), instead = new Map(), most = MOST_OVERLAPS }: OverlapOptions = {},
): Promise<Overlap[]> {
  const own = ringsByInstant([timetable], fromMs, toMs, needs.times);
  if (own.size === 0) return [];
  const others = await ringsBeside(timetable, [...own.keys()], instead, needs);
  const shared = sharedDevices(needs);
  const found: Overlap[] = [];
  for (const at of [...own.keys()].sort((one, other) => one - other)) {
    const rings = own.get(at) ?? [];
    for (const [index, ring] of rings.entries()) {
      for (const other of [...rings.slice(index + 1), ...(others.get(at) ?? [])]) {
        const overlap = overlapOf(at, ring, other, 0);
        if (except.has(overlapName(overlap))) continue;
        const devices = await shared(ring.entry, other.entry);
        if (devices > 0) found.push({ ...overlap, devices });
        if (found.length === most) return found;
      }
    }
  }
  return found;
}

/** Tells overlaps apart: two rings that meet on a day are the same overlap when both come at another time of that day. */
export function overlapName({ localDate, bellScheduleId, entryId, other }: Overlap): string {
  return [localDate, bellScheduleId, entryId, other.bellScheduleId, other.entryId].join(" ");
}

function overlapOf(at: number, { bellScheduleId, entry, day }: Placed, other: Placed, devices: number): Overlap {
  const { id: entryId, messageTemplateId, time: localTime } = entry;
  const { bellScheduleId: otherId, entry: otherEntry } = other;
  return {
    ...{ at, localDate: dateOf(day), localTime, bellScheduleId, entryId, messageTemplateId, devices },
    other: { bellScheduleId: otherId, entryId: otherEntry.id, messageTemplateId: otherEntry.messageTemplateId },
  };
}

function ringsByInstant(
  timetables: readonly Timetable[],
  fromMs: number,
  toMs: number,
  times: BellTimes,
): Map<number, Placed[]> {
  const rings = new Map<number, Placed[]>();
  for (const timetable of timetables) {
    const bellScheduleId = timetable.schedule.id;
    eachRing(compileTimetable(timetable, times), fromMs, toMs, (at, day, { entries }, index) => {
      const entry = entries[index];
      if (!entry) return;
      const known = rings.get(at) ?? [];
      known.push({ bellScheduleId, entry, day });
      rings.set(at, known);
    });
  }
  return rings;
}

/** The rings of all other schedules at these instants. */
async function ringsBeside(
  { schedule }: Timetable,
  instants: readonly number[],
  instead: ReadonlyMap<string, Timetable | null>,
  { reader, clock, times, sight }: OverlapNeeds,
): Promise<Map<number, Placed[]>> {
  const fromMs = instants.reduce((least, at) => Math.min(least, at));
  const toMs = instants.reduce((most, at) => Math.max(most, at)) + 1;
  const wanted = new Set(instants);
  const beside = new Map<number, Placed[]>();
  const keys = keysInSight(reader, sight, schedule.id);
  for (let at = 0; at < keys.length; at += AT_ONCE) {
    const rows = reader.byPks(bellSchedules, keys.slice(at, at + AT_ONCE));
    const timetables = timetablesOf(reader, rows, times).flatMap((held) => {
      const next = instead.get(held.schedule.id);
      return next === undefined ? [held] : (next ?? []);
    });
    for (const [instant, rings] of ringsByInstant(timetables, fromMs, toMs, times)) {
      if (wanted.has(instant)) beside.set(instant, [...(beside.get(instant) ?? []), ...rings]);
    }
    await new Promise<void>((resolve) => clock.soon(resolve));
  }
  return beside;
}

function keysInSight(reader: Reader, sight: Sight, ownId: string): number[] {
  const visible = sight.visible(bellSchedules);
  if (visible === "none") return [];
  const { sql, params } = visible === "all" ? { sql: "1", params: [] } : visible;
  return reader
    .all<{ pk: number }>(`SELECT t.pk FROM ${tableOf(bellSchedules)} t WHERE (${sql}) AND t.id <> ?`, ...params, ownId)
    .map(({ pk }) => pk);
}

/** Counts the devices that two rings share; members of groups are found once. */
function sharedDevices({ reader, memberships }: OverlapNeeds) {
  const known = new Map<string, Promise<ReadonlySet<number>>>();
  const membersOf = (entry: RingListEntry): Promise<ReadonlySet<number>> => {
    const groups = groupsOf(reader, entry);
    const key = groups.join();
    const members = known.get(key) ?? memberships.members(groups).then((pks) => new Set(pks));
    known.set(key, members);
    return members;
  };
  return async (one: RingListEntry, other: RingListEntry): Promise<number> => {
    const [first, second] = [await membersOf(one), await membersOf(other)];
    return [...first].filter((pk) => second.has(pk)).length;
  };
}

/** The groups of a ring replace those of its message. */
function groupsOf(reader: Reader, { messageTemplateId, deviceGroupIds, distributionListIds }: RingListEntry) {
  if (deviceGroupIds.length > 0 || distributionListIds.length > 0) return [...deviceGroupIds].sort();
  return [...(reader.get(messageTemplates, messageTemplateId)?.deviceGroupIds ?? [])].sort();
}
