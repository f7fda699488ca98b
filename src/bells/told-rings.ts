import { type Clock, nextTurn } from "../base/clock.ts";
import type { Reader } from "../store/store.ts";
import type { BellScheduleRow } from "./bell-schedule-behaviour.ts";
import { type Occurrence, type RingRecord, type RingState, ringRecords } from "./ring-book.ts";
import { type CompiledSchedule, ringsOf } from "./rings.ts";
import { type BellTimes, compileTimetable, timetablesOf } from "./timetables.ts";
import { DAY_MS } from "./zones.ts";

/** A ring as it is told, with how far it has come. */
export interface ToldRing extends Occurrence {
  /** `planned` for what lies further ahead than the planner looks. */
  state: Exclude<RingState, "withdrawn">;
  /** Devices that played it by themselves while the appliance was gone. */
  playedAlone: number;
}

/** What telling rings needs. */
export interface RingNeeds {
  reader: Reader;
  clock: Clock;
  times: BellTimes;
}

/** Days that are worked out between two turns of the event loop. */
const SLICE_MS = 28 * DAY_MS;

/**
 * The rings of a schedule from `fromMs` (included) to `toMs` (not included), in order of time, then id: what became of those that
 * are over, as far back as that is kept, and what the schedule says of those to come.
 */
export async function ringsTold(
  row: BellScheduleRow,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  needs: RingNeeds,
): Promise<ToldRing[]> {
  const { reader, clock } = needs;
  const now = clock.now();
  const records = ringRecords(reader, row.id, fromMs, toMs);
  const known = new Map(records.map((record) => [record.id, record]));
  const past = records.filter(({ at }) => at < now).map((record) => toldOf(record, record));
  const ahead = await ringsAhead(compiledOf(row, needs), Math.max(now, fromMs), toMs, clock);
  const next = ahead.map((ring) => toldOf(ring, known.get(ring.id)));
  return [...past, ...next].sort((one, other) => one.at - other.at || (one.id < other.id ? -1 : 1));
}

function compiledOf(row: BellScheduleRow, { reader, times }: RingNeeds): CompiledSchedule {
  const [timetable] = timetablesOf(reader, [row], times);
  return compileTimetable(timetable as NonNullable<typeof timetable>, times);
}

/** The rings that a schedule makes in the time given, worked out in slices. */
async function ringsAhead(
  compiled: CompiledSchedule,
  fromMs: number,
  toMs: number,
  clock: Clock,
): Promise<Occurrence[]> {
  const rings: Occurrence[] = [];
  for (let from = fromMs; from < toMs; from += SLICE_MS) {
    for (const { entry, ...ring } of ringsOf(compiled, from, Math.min(from + SLICE_MS, toMs))) {
      rings.push({ ...ring, entryId: entry.id, messageTemplateId: entry.messageTemplateId });
    }
    await nextTurn(clock);
  }
  return rings;
}

function toldOf(ring: Occurrence, record?: RingRecord): ToldRing {
  const { id, at, localDate, localTime, ringListId, entryId, messageTemplateId } = ring;
  const { state = "planned", playedAlone = 0 } = record ?? {};
  const told = state === "withdrawn" ? "planned" : state;
  return { id, at, localDate, localTime, ringListId, entryId, messageTemplateId, state: told, playedAlone };
}
