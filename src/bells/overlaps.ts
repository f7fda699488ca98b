import { type Clock, nextTurn } from "../base/clock.ts";
import type { Memberships } from "../devices/memberships.ts";
import type { RingListEntry } from "../resources/bells/bell-parts.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import { tableOf } from "../schema/catalogue.ts";
import { seenSql } from "../store/seen.ts";
import type { Reader, Sight } from "../store/store.ts";
import { dateOf } from "./local-times.ts";
import { beginOf, type Compared } from "./ring-difference.ts";
import { eachRing } from "./rings.ts";
import { type BellTimes, compileTimetable, type Timetable, timetablesOf } from "./timetables.ts";
import { DAY_MS } from "./zones.ts";

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

interface Placed {
  bellScheduleId: string;
  entry: RingListEntry;
  day: number;
}

/** Schedules read between two turns of the event loop. */
const AT_ONCE = 20;
/** Longest work between two turns of the event loop. */
const SLICE_MS = 4;
const LOOKED_AT = 5;
const AHEAD_MS = 7 * DAY_MS;
/** Overlaps that were there before are known up to so many. own choice */
const MOST_KNOWN = 10_000;
/** own choice */
const MOST_OVERLAPS = 100;

/**
 * Rings of a timetable, from `fromMs` (included) to `toMs` (not included), that come at the instant of another ring, its own
 * or of another schedule, on a device of both; in order of time, the first 100. Devices are those of groups.
 * @source bells.md, Running: the editor warns of overlaps
 */
export async function overlapsOf(
  timetable: Timetable,
  span: { fromMs: number; toMs: number },
  needs: OverlapNeeds,
): Promise<Overlap[]> {
  const own = ringsByInstant([timetable], span, needs.times);
  const others = await storedRings([...own.keys()], needs);
  return meetings(own, (at) => others.get(at) ?? [], sharedDevices(needs));
}

/**
 * Rings that meet once schedules are changed and did not before, of the first 5 of them, in their next 7 days; all that are
 * given are looked at as they are to become. own choice: how many, and how far
 */
export async function newOverlaps(compared: readonly Compared[], needs: OverlapNeeds): Promise<Overlap[]> {
  const { times, clock } = needs;
  const changed = new Set(compared.flatMap(({ before, after }) => (before ?? after)?.schedule.id ?? []));
  const looked = compared.slice(0, LOOKED_AT).flatMap(({ before, after }) => {
    if (!after) return [];
    const fromMs = beginOf([after], clock.now());
    const span = { fromMs, toMs: fromMs + AHEAD_MS };
    return [
      { before: ringsByInstant(before ? [before] : [], span, times), after: ringsByInstant([after], span, times) },
    ];
  });
  const instants = [...new Set(looked.flatMap(({ before, after }) => [...before.keys(), ...after.keys()]))];
  const stored = await storedRings(instants, needs);
  const changing = ringsByInstant(
    compared.flatMap(({ after }) => after ?? []),
    spanOf(instants),
    times,
  );
  const shared = sharedDevices(needs);
  const found: Overlap[] = [];
  for (const { before, after } of looked) {
    const known = await meetings(before, (at) => stored.get(at) ?? [], shared, { most: MOST_KNOWN });
    const besides = (at: number): Placed[] => [
      ...(stored.get(at) ?? []).filter(({ bellScheduleId }) => !changed.has(bellScheduleId)),
      ...(changing.get(at) ?? []),
    ];
    found.push(...(await meetings(after, besides, shared, { except: new Set(known.map(overlapName)) })));
  }
  return found;
}

/** The overlaps of a schedule's rings with each other and with those `beside` them, but for those named in `except`. */
async function meetings(
  own: ReadonlyMap<number, Placed[]>,
  beside: (at: number) => readonly Placed[],
  { membersOf, turn }: Pairing,
  { most = MOST_OVERLAPS, except = new Set<string>() } = {},
): Promise<Overlap[]> {
  const found: Overlap[] = [];
  for (const at of [...own.keys()].sort((one, other) => one - other)) {
    const rings = own.get(at) ?? [];
    for (const [index, ring] of rings.entries()) {
      const members = await membersOf(ring.entry);
      if (members.size === 0) continue;
      const others = beside(at).filter(({ bellScheduleId }) => bellScheduleId !== ring.bellScheduleId);
      for (const other of [...rings.slice(index + 1), ...others]) {
        const devices = countShared(members, await membersOf(other.entry));
        if (devices === 0) continue;
        const overlap = overlapOf(at, ring, other, devices);
        if (!except.has(overlapName(overlap))) found.push(overlap);
        if (found.length === most) return found;
      }
      await turn();
    }
  }
  return found;
}

/** Tells overlaps apart: two rings that meet on a day are the same overlap when both come at another time of that day. */
function overlapName({ localDate, bellScheduleId, entryId, other }: Overlap): string {
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
  { fromMs, toMs }: { fromMs: number; toMs: number },
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

/** The least span that holds all instants. */
function spanOf(instants: readonly number[]): { fromMs: number; toMs: number } {
  return {
    fromMs: instants.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY),
    toMs: instants.reduce((most, at) => Math.max(most, at), Number.NEGATIVE_INFINITY) + 1,
  };
}

/** The rings of all schedules in sight at these instants, as they are stored. */
async function storedRings(
  instants: readonly number[],
  { reader, clock, times, sight }: OverlapNeeds,
): Promise<Map<number, Placed[]>> {
  const found = new Map<number, Placed[]>();
  if (instants.length === 0) return found;
  const span = spanOf(instants);
  const wanted = new Set(instants);
  const keys = keysInSight(reader, sight, span);
  for (let at = 0; at < keys.length; at += AT_ONCE) {
    const rows = reader.byPks(bellSchedules, keys.slice(at, at + AT_ONCE));
    for (const [instant, rings] of ringsByInstant(timetablesOf(reader, rows, times), span, times)) {
      if (wanted.has(instant)) found.set(instant, [...(found.get(instant) ?? []), ...rings]);
    }
    await nextTurn(clock);
  }
  return found;
}

/** Schedules that ring at some time within the span, with a day to spare for their zones. */
function keysInSight(reader: Reader, sight: Sight, { fromMs, toMs }: { fromMs: number; toMs: number }): number[] {
  const { sql, params } = seenSql(sight.visible(bellSchedules));
  const days = [dateOf(Math.floor(toMs / DAY_MS) + 2), dateOf(Math.floor(fromMs / DAY_MS) - 2)];
  const table = tableOf(bellSchedules);
  return reader
    .all<{ pk: number }>(
      `SELECT t.pk FROM ${table} t WHERE ${sql} AND t.start_date <= ? AND t.end_date >= ?`,
      ...params,
      ...days,
    )
    .map(({ pk }) => pk);
}

interface Pairing {
  /** Devices of a ring; members of groups are found once. */
  membersOf(entry: RingListEntry): Promise<ReadonlySet<number>>;
  /** Gives way to others now and then. */
  turn(): Promise<void>;
}

function sharedDevices({ reader, memberships, clock }: OverlapNeeds): Pairing {
  const known = new Map<string, Promise<ReadonlySet<number>>>();
  let began = clock.monotonicMs();
  return {
    membersOf(entry) {
      const groups = groupsOf(reader, entry);
      const key = groups.join();
      const members = known.get(key) ?? memberships.members(groups).then((pks) => new Set(pks));
      known.set(key, members);
      return members;
    },
    async turn() {
      if (clock.monotonicMs() - began < SLICE_MS) return;
      await nextTurn(clock);
      began = clock.monotonicMs();
    },
  };
}

function countShared(one: ReadonlySet<number>, other: ReadonlySet<number>): number {
  if (other.size === 0) return 0;
  return [...one].filter((pk) => other.has(pk)).length;
}

/** The groups of a ring replace those of its message. */
function groupsOf(reader: Reader, { messageTemplateId, deviceGroupIds, distributionListIds }: RingListEntry) {
  if (deviceGroupIds.length > 0 || distributionListIds.length > 0) return [...deviceGroupIds].sort();
  return [...(reader.get(messageTemplates, messageTemplateId)?.deviceGroupIds ?? [])].sort();
}
