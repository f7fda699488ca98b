import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import type { StoreReader } from "../store/store.ts";
import type { BellScheduleRow } from "./bell-schedule-hooks.ts";
import { type Occurrence, type RingRecord, type RingState, ringRecords } from "./ring-repository.ts";
import { type CompiledSchedule, expandCompiledSchedule } from "./schedule-expansion.ts";
import { compileTimetable, type LocalTimeContext, loadTimetables } from "./timetables.ts";

/** A ring as the API returns it. */
export interface RingDto extends Occurrence {
  /** `planned` also for rings beyond the planning horizon. */
  state: Exclude<RingState, "withdrawn">;
  /** Number of devices that played it offline. */
  playedAlone: number;
}

export interface ListRingsDeps {
  reader: StoreReader;
  clock: Clock;
  times: LocalTimeContext;
}

/** Days expanded per chunk; the event loop runs between chunks. */
const CHUNK_SPAN_MS = 28 * DAY_MS;

/**
 * The rings of a schedule from `fromMs` (included) to `toMs` (not included), sorted by time, then id: stored outcomes of past
 * rings within their retention, and computed upcoming rings.
 */
export async function listRings(
  row: BellScheduleRow,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  deps: ListRingsDeps,
): Promise<RingDto[]> {
  const { reader, clock } = deps;
  const now = clock.now();
  const records = ringRecords(reader, row.id, fromMs, toMs);
  const known = new Map(records.map((record) => [record.id, record]));
  const past = records.filter(({ at }) => at < now).map((record) => toRingDto(record, record));
  const ahead = await expandInChunks(compileScheduleRow(row, deps), Math.max(now, fromMs), toMs, clock);
  const next = ahead.map((ring) => toRingDto(ring, known.get(ring.id)));
  return [...past, ...next].sort((one, other) => one.at - other.at || (one.id < other.id ? -1 : 1));
}

function compileScheduleRow(row: BellScheduleRow, { reader, times }: ListRingsDeps): CompiledSchedule {
  const [timetable] = loadTimetables(reader, [row], times);
  return compileTimetable(timetable as NonNullable<typeof timetable>, times);
}

/** Expands a schedule in chunks. */
async function expandInChunks(
  compiled: CompiledSchedule,
  fromMs: number,
  toMs: number,
  clock: Clock,
): Promise<Occurrence[]> {
  const rings: Occurrence[] = [];
  for (let from = fromMs; from < toMs; from += CHUNK_SPAN_MS) {
    for (const { entry, ...ring } of expandCompiledSchedule(compiled, from, Math.min(from + CHUNK_SPAN_MS, toMs))) {
      rings.push({ ...ring, entryId: entry.id, messageTemplateId: entry.messageTemplateId });
    }
    await yieldToEventLoop(clock);
  }
  return rings;
}

function toRingDto(ring: Occurrence, record?: RingRecord): RingDto {
  const { id, at, localDate, localTime, ringListId, entryId, messageTemplateId } = ring;
  const { state = "planned", playedAlone = 0 } = record ?? {};
  const publicState = state === "withdrawn" ? "planned" : state;
  return { id, at, localDate, localTime, ringListId, entryId, messageTemplateId, state: publicState, playedAlone };
}
