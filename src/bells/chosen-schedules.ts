import { type Clock, nextTurn } from "../base/clock.ts";
import { forbidden, invalidValue, requiredValue } from "../base/errors.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import { tableOf } from "../schema/catalogue.ts";
import { seenSql } from "../store/seen.ts";
import type { By, Reader } from "../store/store.ts";
import type { BellScheduleRow } from "./bell-schedule-behaviour.ts";
import { overlap, type Span } from "./calendar-days.ts";

/** Which schedules a request changes. */
export interface Choice {
  bellScheduleIds: readonly string[];
  allBellSchedules: boolean;
}

/** A schedule as answers tell it. */
export interface AffectedSchedule {
  id: string;
  name: string;
}

/** What looking through schedules needs. */
export interface LookNeeds {
  reader: Reader;
  clock: Clock;
}

/** Schedules read between two turns of the event loop. */
const AT_ONCE = 20;

/**
 * The chosen schedules that ring at some time within the span, read in turns of the event loop. Throws CallerError:
 * required without a choice, invalid-value for a schedule that `by` does not see, forbidden for one that it may not change.
 */
export async function* chosenSchedules(
  choice: Choice,
  span: Span,
  by: By,
  needs: LookNeeds,
): AsyncGenerator<BellScheduleRow> {
  const rows = choice.allBellSchedules ? allChangeable(by, needs) : namedSchedules(choice.bellScheduleIds, by, needs);
  for await (const row of rows) if (overlap(row, span)) yield row;
}

/** The schedules in whose exceptions a text stands, such as the id of what made them. */
export async function* schedulesHolding(text: string, { reader, clock }: LookNeeds): AsyncGenerator<BellScheduleRow> {
  const sql = `SELECT pk, instr(bell_schedule_exceptions, ?) > 0 AS holds FROM ${tableOf(bellSchedules)}
    WHERE pk > ? ORDER BY pk LIMIT ${AT_ONCE * 5}`;
  for (let after = 0; ; ) {
    const looked = reader.all<{ pk: number; holds: number }>(sql, text, after);
    const last = looked.at(-1);
    if (!last) return;
    const keys = looked.filter(({ holds }) => holds === 1).map(({ pk }) => pk);
    yield* inTurns(keys, { reader, clock });
    after = last.pk;
    await nextTurn(clock);
  }
}

async function* namedSchedules(ids: readonly string[], by: By, { reader, clock }: LookNeeds) {
  if (ids.length === 0) throw requiredValue("bellScheduleIds");
  for (const [at, id] of ids.entries()) {
    const row = reader.get(bellSchedules, id, by.scope);
    if (!row) throw invalidValue("bellScheduleIds", `There is none with the id ${id}.`);
    if (!mayChange(id, by)) throw forbidden();
    yield row;
    if (at % AT_ONCE === AT_ONCE - 1) await nextTurn(clock);
  }
}

async function* allChangeable(by: By, { reader, clock }: LookNeeds): AsyncGenerator<BellScheduleRow> {
  const { sql, params } = seenSql(by.scope.changeable.visible(bellSchedules));
  const keys = reader.all<{ pk: number }>(
    `SELECT t.pk FROM ${tableOf(bellSchedules)} t WHERE ${sql} ORDER BY t.pk`,
    ...params,
  );
  for await (const row of inTurns(
    keys.map(({ pk }) => pk),
    { reader, clock },
  )) {
    if (mayChange(row.id, by)) yield row;
  }
}

async function* inTurns(keys: readonly number[], { reader, clock }: LookNeeds): AsyncGenerator<BellScheduleRow> {
  for (let at = 0; at < keys.length; at += AT_ONCE) {
    const rows = reader.byPks(bellSchedules, keys.slice(at, at + AT_ONCE));
    yield* rows.sort((one, other) => one.pk - other.pk);
    await nextTurn(clock);
  }
}

function mayChange(id: string, { scope }: By): boolean {
  return scope.allows("put", `/bell-schedules/${id}`);
}
