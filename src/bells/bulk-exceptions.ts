import type { Clock } from "../base/clock.ts";
import { invalidValue } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import bulkExceptions from "../resources/bells/bell-schedules-bulk-exceptions.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Behaviour } from "../store/store.ts";
import { exceptionsOf } from "./bell-schedule-behaviour.ts";
import { requireSpan } from "./calendar-days.ts";
import { placeException } from "./exceptions.ts";
import { type ExceptionChange, makeChange } from "./sliced-changes.ts";

/** Puts one exception into several schedules, once its row is there: into all of them, or into none. @source decisions.md 9 */
export function bulkExceptionBehaviour({ clock }: { clock: Clock }): Behaviour<typeof bulkExceptions> {
  return {
    beforeWrite({ op, after }, tx, by) {
      if (op !== "create" || !after) return;
      const { startDate, endDate, ringListId } = after;
      requireSpan({ startDate, endDate });
      if (ringListId !== null && !tx.get(ringLists, ringListId, by.scope))
        throw invalidValue("ringListId", `There is none with the id ${ringListId}.`);
      if (after.allBellSchedules) after.bellScheduleIds = [];
      after.actingDomainId = by.scope.domainId;
    },
    createInSlices: (input, by, store) =>
      makeChange({ resource: bulkExceptions, read: exceptionsPlaced }, input, by, { store, clock }),
  };
}

/** The exceptions of a schedule with one more, for which others make room. */
export function exceptionsPlaced(row: RowOf<typeof bulkExceptions>): ExceptionChange {
  const { startDate, endDate, ringListId, description } = row;
  return (schedule) => {
    const added = { id: newId(), startDate, endDate, ringListId, description, ringListChanges: [] };
    return placeException(exceptionsOf(schedule), added);
  };
}
