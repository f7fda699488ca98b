import { forbidden, invalidValue, requiredValue } from "../base/errors.ts";
import type { BellScheduleException } from "../resources/bells/bell-parts.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import { tableOf } from "../schema/catalogue.ts";
import type { By, Reader, Transaction } from "../store/store.ts";
import { type BellScheduleRow, requireFewExceptions } from "./bell-schedule-behaviour.ts";
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

/**
 * The chosen schedules that ring at some time within the span. Throws CallerError: required without a choice,
 * invalid-value for a schedule that `by` does not see, forbidden for one that it may not change.
 */
export function chosenSchedules(choice: Choice, span: Span, reader: Reader, by: By): BellScheduleRow[] {
  const rows = choice.allBellSchedules ? allChangeable(reader, by) : namedSchedules(choice.bellScheduleIds, reader, by);
  return rows.filter((row) => overlap(row, span));
}

function namedSchedules(ids: readonly string[], reader: Reader, by: By): BellScheduleRow[] {
  if (ids.length === 0) throw requiredValue("bellScheduleIds");
  return ids.map((id) => {
    const row = reader.get(bellSchedules, id, by.scope);
    if (!row) throw invalidValue("bellScheduleIds", `There is none with the id ${id}.`);
    if (!mayChange(id, by)) throw forbidden();
    return row;
  });
}

function allChangeable(reader: Reader, by: By): BellScheduleRow[] {
  const visible = by.scope.changeable.visible(bellSchedules);
  if (visible === "none") return [];
  const { sql, params } = visible === "all" ? { sql: "1", params: [] } : visible;
  const keys = reader.all<{ pk: number }>(`SELECT t.pk FROM ${tableOf(bellSchedules)} t WHERE ${sql}`, ...params);
  const rows = reader.byPks(
    bellSchedules,
    keys.map(({ pk }) => pk),
  );
  return rows.filter(({ id }) => mayChange(id, by)).sort((one, other) => one.pk - other.pk);
}

function mayChange(id: string, { scope }: By): boolean {
  return scope.allows("put", `/bell-schedules/${id}`);
}

/** Gives a schedule other exceptions, which must be in order and not overlap. Throws CallerError when they are too many. */
export function putExceptions(
  { id, name }: BellScheduleRow,
  bellScheduleExceptions: readonly BellScheduleException[],
  tx: Transaction,
  by: By,
): AffectedSchedule {
  requireFewExceptions(bellScheduleExceptions, name);
  tx.update(bellSchedules, id, {}, by, { bellScheduleExceptions });
  return { id, name };
}
