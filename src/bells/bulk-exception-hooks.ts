import type { Clock } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import bulkExceptions from "../resources/bells/bell-schedules-bulk-exceptions.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ResourceHooks } from "../store/store.ts";
import { scheduleExceptionsOf } from "./bell-schedule-hooks.ts";
import { createBulkChange, type ExceptionEdit } from "./bulk-change-job.ts";
import { assertValidDateSpan } from "./date-span.ts";
import { insertException } from "./schedule-exceptions.ts";

/** Adds one exception to several schedules after its row is stored; all or nothing. @source docs/decisions/0009-ring-lists-and-bell-schedules.md, Bulk exceptions */
export function bulkExceptionHooks({ clock }: { clock: Clock }): ResourceHooks<typeof bulkExceptions> {
  return {
    beforeWrite({ op, after }, tx, by) {
      if (op !== "create" || !after) return;
      const { startDate, endDate, ringListId } = after;
      assertValidDateSpan({ startDate, endDate });
      if (ringListId !== null && !tx.get(ringLists, ringListId, by.scope))
        throw invalidValue("ringListId", sentence("field.no-ring-list-with-the-id-id-was-found", { id: ringListId }));
      if (after.allBellSchedules) after.bellScheduleIds = [];
      after.actingDomainId = by.scope.domainId;
    },
    createInChunks: (input, by, store) =>
      createBulkChange({ resource: bulkExceptions, read: bulkExceptionEdit }, input, by, { store, clock }),
  };
}

/** The exceptions of a schedule plus one; conflicting exceptions are shortened, split or removed. */
export function bulkExceptionEdit(row: RowOf<typeof bulkExceptions>): ExceptionEdit {
  const { startDate, endDate, ringListId, description } = row;
  return (schedule) => {
    const added = { id: newId(), startDate, endDate, ringListId, description, ringListChanges: [] };
    return insertException(scheduleExceptionsOf(schedule), added);
  };
}
