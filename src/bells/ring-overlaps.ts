import type { GroupMemberships } from "../devices/group-memberships.ts";
import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import { createTimeSlice, type TimeSlice } from "../lib/time-slice.ts";
import type { RingListEntry } from "../resources/bells/bell-fields.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import { tableName } from "../schema/catalogue.ts";
import type { RowVisibility, StoreReader } from "../store/store.ts";
import { buildVisibilitySql } from "../store/visibility-sql.ts";
import { formatDayNumber } from "./local-time.ts";
import { comparisonStart, type TimetableChange } from "./ring-diff.ts";
import { eachRing } from "./schedule-expansion.ts";
import { compileTimetable, type LocalTimeContext, loadTimetables, type Timetable } from "./timetables.ts";

/** Two rings at the same instant that share devices. */
export interface RingOverlap {
  /** Epoch ms. */
  at: number;
  localDate: string;
  localTime: string;
  bellScheduleId: string;
  entryId: string;
  messageTemplateId: string;
  other: { bellScheduleId: string; entryId: string; messageTemplateId: string };
  /** Number of devices that both rings address. */
  devices: number;
}

/** `sight` limits which schedules are searched. */
export interface RingOverlapDeps {
  reader: StoreReader;
  clock: Clock;
  times: LocalTimeContext;
  visibility: RowVisibility;
  memberships: Pick<GroupMemberships, "members">;
}

interface PlacedRing {
  bellScheduleId: string;
  entry: RingListEntry;
  day: number;
}

/** Schedules read per chunk; the event loop runs between chunks. */
const CHUNK_SIZE = 20;
const MAX_SCHEDULES_CHECKED = 5;
const LOOKAHEAD_MS = 7 * DAY_MS;
/** Existing overlaps remembered for comparison. @source docs/decisions/0200-bell-engine-limits.md, Overlaps */
const MAX_KNOWN_OVERLAPS = 10_000;
/** @source docs/decisions/0200-bell-engine-limits.md, Overlaps */
const MAX_OVERLAPS = 100;

/**
 * Rings of a timetable from `fromMs` (included) to `toMs` (not included) that coincide with another ring, of the same or
 * another schedule, on a shared device; sorted by time, the first 100. Only devices of device groups count.
 * @source docs/decisions/0015-bell-engine.md, Running
 */
export async function findRingOverlaps(
  timetable: Timetable,
  span: { fromMs: number; toMs: number },
  deps: RingOverlapDeps,
): Promise<RingOverlap[]> {
  const own = ringsByInstant([timetable], span, deps.times);
  const others = await loadRingsAt([...own.keys()], deps);
  return collectOverlaps(own, (at) => others.get(at) ?? [], createSharedDeviceLookup(deps));
}

/**
 * Overlaps that a change of schedules adds: checks the first 5 schedules for their next 7 days, against the new state of all
 * given schedules. @source docs/decisions/0200-bell-engine-limits.md, Overlaps
 */
export async function findNewRingOverlaps(
  compared: readonly TimetableChange[],
  deps: RingOverlapDeps,
): Promise<RingOverlap[]> {
  const { times, clock } = deps;
  const changed = new Set(compared.flatMap(({ before, after }) => (before ?? after)?.schedule.id ?? []));
  const checked = compared.slice(0, MAX_SCHEDULES_CHECKED).flatMap(({ before, after }) => {
    if (!after) return [];
    const fromMs = comparisonStart([after], clock.now());
    const span = { fromMs, toMs: fromMs + LOOKAHEAD_MS };
    return [
      { before: ringsByInstant(before ? [before] : [], span, times), after: ringsByInstant([after], span, times) },
    ];
  });
  const instants = [...new Set(checked.flatMap(({ before, after }) => [...before.keys(), ...after.keys()]))];
  const stored = await loadRingsAt(instants, deps);
  const changing = ringsByInstant(
    compared.flatMap(({ after }) => after ?? []),
    spanOf(instants),
    times,
  );
  const shared = createSharedDeviceLookup(deps);
  const found: RingOverlap[] = [];
  for (const { before, after } of checked) {
    const known = await collectOverlaps(before, (at) => stored.get(at) ?? [], shared, { limit: MAX_KNOWN_OVERLAPS });
    const besides = (at: number): PlacedRing[] => [
      ...(stored.get(at) ?? []).filter(({ bellScheduleId }) => !changed.has(bellScheduleId)),
      ...(changing.get(at) ?? []),
    ];
    found.push(...(await collectOverlaps(after, besides, shared, { except: new Set(known.map(overlapKey)) })));
  }
  return found;
}

/** The overlaps of a schedule's rings with each other and with those `beside` them, without those in `except`. */
async function collectOverlaps(
  own: ReadonlyMap<number, PlacedRing[]>,
  beside: (at: number) => readonly PlacedRing[],
  { membersOf, slice }: SharedDeviceLookup,
  { limit = MAX_OVERLAPS, except = new Set<string>() } = {},
): Promise<RingOverlap[]> {
  const found: RingOverlap[] = [];
  for (const at of [...own.keys()].sort((one, other) => one - other)) {
    const rings = own.get(at) ?? [];
    for (const [index, ring] of rings.entries()) {
      const members = await membersOf(ring.entry);
      if (members.size === 0) continue;
      const others = beside(at).filter(({ bellScheduleId }) => bellScheduleId !== ring.bellScheduleId);
      for (const other of [...rings.slice(index + 1), ...others]) {
        const devices = countIntersection(members, await membersOf(other.entry));
        if (devices === 0) continue;
        const overlap = createOverlap(at, ring, other, devices);
        if (!except.has(overlapKey(overlap))) found.push(overlap);
        if (found.length === limit) return found;
      }
      if (slice.isOver()) await slice.next();
    }
  }
  return found;
}

/** Identity of an overlap: it stays the same if both rings move to another time on the same day. */
function overlapKey({ localDate, bellScheduleId, entryId, other }: RingOverlap): string {
  return [localDate, bellScheduleId, entryId, other.bellScheduleId, other.entryId].join(" ");
}

function createOverlap(
  at: number,
  { bellScheduleId, entry, day }: PlacedRing,
  other: PlacedRing,
  devices: number,
): RingOverlap {
  const { id: entryId, messageTemplateId, time: localTime } = entry;
  const { bellScheduleId: otherId, entry: otherEntry } = other;
  return {
    ...{ at, localDate: formatDayNumber(day), localTime, bellScheduleId, entryId, messageTemplateId, devices },
    other: { bellScheduleId: otherId, entryId: otherEntry.id, messageTemplateId: otherEntry.messageTemplateId },
  };
}

function ringsByInstant(
  timetables: readonly Timetable[],
  { fromMs, toMs }: { fromMs: number; toMs: number },
  times: LocalTimeContext,
): Map<number, PlacedRing[]> {
  const rings = new Map<number, PlacedRing[]>();
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

/** The smallest span that contains all instants. */
function spanOf(instants: readonly number[]): { fromMs: number; toMs: number } {
  return {
    fromMs: instants.reduce((earliest, at) => Math.min(earliest, at), Number.POSITIVE_INFINITY),
    toMs: instants.reduce((latest, at) => Math.max(latest, at), Number.NEGATIVE_INFINITY) + 1,
  };
}

/** The stored rings of all visible schedules at these instants. */
async function loadRingsAt(
  instants: readonly number[],
  { reader, clock, times, visibility }: RingOverlapDeps,
): Promise<Map<number, PlacedRing[]>> {
  const found = new Map<number, PlacedRing[]>();
  if (instants.length === 0) return found;
  const span = spanOf(instants);
  const wanted = new Set(instants);
  const keys = visibleScheduleKeys(reader, visibility, span);
  for (let at = 0; at < keys.length; at += CHUNK_SIZE) {
    const rows = reader.getByPks(bellSchedules, keys.slice(at, at + CHUNK_SIZE));
    for (const [instant, rings] of ringsByInstant(loadTimetables(reader, rows, times), span, times)) {
      if (wanted.has(instant)) found.set(instant, [...(found.get(instant) ?? []), ...rings]);
    }
    await yieldToEventLoop(clock);
  }
  return found;
}

/** Schedules that are active within the span, plus two days on each side for time zones. */
function visibleScheduleKeys(
  reader: StoreReader,
  visibility: RowVisibility,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): number[] {
  const { sql, params } = buildVisibilitySql(visibility.visible(bellSchedules));
  const days = [formatDayNumber(Math.floor(toMs / DAY_MS) + 2), formatDayNumber(Math.floor(fromMs / DAY_MS) - 2)];
  const table = tableName(bellSchedules);
  return reader
    .all<{ pk: number }>(
      `SELECT t.pk FROM ${table} t WHERE ${sql} AND t.start_date <= ? AND t.end_date >= ?`,
      ...params,
      ...days,
    )
    .map(({ pk }) => pk);
}

interface SharedDeviceLookup {
  /** Devices of a ring; the members of a group are looked up once. */
  membersOf(entry: RingListEntry): Promise<ReadonlySet<number>>;
  slice: TimeSlice;
}

function createSharedDeviceLookup({ reader, memberships, clock }: RingOverlapDeps): SharedDeviceLookup {
  const known = new Map<string, Promise<ReadonlySet<number>>>();
  return {
    membersOf(entry) {
      const groups = recipientGroupsOf(reader, entry);
      const key = groups.join();
      const members = known.get(key) ?? memberships.members(groups).then((pks) => new Set(pks));
      known.set(key, members);
      return members;
    },
    slice: createTimeSlice(clock),
  };
}

function countIntersection(one: ReadonlySet<number>, other: ReadonlySet<number>): number {
  if (other.size === 0) return 0;
  return [...one].filter((pk) => other.has(pk)).length;
}

/** The device groups of a ring replace those of its template. */
function recipientGroupsOf(
  reader: StoreReader,
  { messageTemplateId, deviceGroupIds, distributionListIds }: RingListEntry,
) {
  if (deviceGroupIds.length > 0 || distributionListIds.length > 0) return [...deviceGroupIds].sort();
  return [...(reader.get(messageTemplates, messageTemplateId)?.deviceGroupIds ?? [])].sort();
}
