import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { forbidden, invalidValue, requiredValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import { tableName } from "../schema/catalogue.ts";
import type { ActorContext, StoreReader } from "../store/store.ts";
import { buildVisibilitySql } from "../store/visibility-sql.ts";
import type { BellScheduleRow } from "./bell-schedule-hooks.ts";
import { type DateSpan, dateSpansOverlap } from "./date-span.ts";

/** Schedules that a request changes. */
export interface ScheduleSelection {
  bellScheduleIds: readonly string[];
  allBellSchedules: boolean;
}

export interface AffectedSchedule {
  id: string;
  name: string;
}

export interface ScheduleScanDeps {
  reader: StoreReader;
  clock: Clock;
}

/** Schedules read per chunk; the event loop runs between chunks. */
const CHUNK_SIZE = 20;

/**
 * Selected schedules that are active within the span; yields to the event loop. Throws CallerError: required if nothing is
 * selected, invalid-value for a schedule that `by` may not read, forbidden for one that it may not change.
 */
export async function* selectSchedules(
  choice: ScheduleSelection,
  span: DateSpan,
  by: ActorContext,
  deps: ScheduleScanDeps,
): AsyncGenerator<BellScheduleRow> {
  const rows = choice.allBellSchedules
    ? allEditableSchedules(by, deps)
    : namedSchedules(choice.bellScheduleIds, by, deps);
  for await (const row of rows) if (dateSpansOverlap(row, span)) yield row;
}

/** Schedules whose exceptions contain a text, such as the id of the change that created them. */
export async function* schedulesMentioning(
  text: string,
  { reader, clock }: ScheduleScanDeps,
): AsyncGenerator<BellScheduleRow> {
  const sql = `SELECT pk, instr(bell_schedule_exceptions, ?) > 0 AS holds FROM ${tableName(bellSchedules)}
    WHERE pk > ? ORDER BY pk LIMIT ${CHUNK_SIZE * 5}`;
  for (let after = 0; ; ) {
    const scanned = reader.all<{ pk: number; holds: number }>(sql, text, after);
    const last = scanned.at(-1);
    if (!last) return;
    const keys = scanned.filter(({ holds }) => holds === 1).map(({ pk }) => pk);
    yield* readInChunks(keys, { reader, clock });
    after = last.pk;
    await yieldToEventLoop(clock);
  }
}

async function* namedSchedules(ids: readonly string[], by: ActorContext, { reader, clock }: ScheduleScanDeps) {
  if (ids.length === 0) throw requiredValue("bellScheduleIds");
  for (const [at, id] of ids.entries()) {
    const row = reader.get(bellSchedules, id, by.scope);
    if (!row)
      throw invalidValue("bellScheduleIds", sentence("field.no-bell-schedule-with-the-id-id-was-found", { id }));
    if (!mayEdit(id, by)) throw forbidden();
    yield row;
    if (at % CHUNK_SIZE === CHUNK_SIZE - 1) await yieldToEventLoop(clock);
  }
}

async function* allEditableSchedules(
  by: ActorContext,
  { reader, clock }: ScheduleScanDeps,
): AsyncGenerator<BellScheduleRow> {
  const { sql, params } = buildVisibilitySql(by.scope.changeable.visible(bellSchedules));
  const keys = reader.all<{ pk: number }>(
    `SELECT t.pk FROM ${tableName(bellSchedules)} t WHERE ${sql} ORDER BY t.pk`,
    ...params,
  );
  for await (const row of readInChunks(
    keys.map(({ pk }) => pk),
    { reader, clock },
  )) {
    if (mayEdit(row.id, by)) yield row;
  }
}

async function* readInChunks(
  keys: readonly number[],
  { reader, clock }: ScheduleScanDeps,
): AsyncGenerator<BellScheduleRow> {
  for (let at = 0; at < keys.length; at += CHUNK_SIZE) {
    const rows = reader.getByPks(bellSchedules, keys.slice(at, at + CHUNK_SIZE));
    yield* rows.sort((one, other) => one.pk - other.pk);
    await yieldToEventLoop(clock);
  }
}

function mayEdit(id: string, { scope }: ActorContext): boolean {
  return scope.allows("put", `/bell-schedules/${id}`);
}
