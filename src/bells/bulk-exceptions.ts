import { invalidValue } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import type bulkExceptions from "../resources/bells/bell-schedules-bulk-exceptions.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import type { Behaviour } from "../store/store.ts";
import { exceptionsOf } from "./bell-schedule-behaviour.ts";
import { requireSpan } from "./calendar-days.ts";
import { chosenSchedules, putExceptions } from "./chosen-schedules.ts";
import { placeException } from "./exceptions.ts";

/** Puts one exception into several schedules in the transaction of its row: into all of them, or into none. @source decisions.md 9 */
export const bulkExceptionBehaviour: Behaviour<typeof bulkExceptions> = {
  beforeWrite({ op, after }, tx, by) {
    if (op !== "create" || !after) return;
    const { startDate, endDate, ringListId, description } = after;
    requireSpan({ startDate, endDate });
    if (ringListId !== null && !tx.get(ringLists, ringListId, by.scope))
      throw invalidValue("ringListId", `There is none with the id ${ringListId}.`);
    if (after.allBellSchedules) after.bellScheduleIds = [];
    after.schedulesAffected = chosenSchedules(after, { startDate, endDate }, tx, by).map((row) => {
      const added = { id: newId(), startDate, endDate, ringListId, description, ringListChanges: [] };
      return putExceptions(row, placeException(exceptionsOf(row), added), tx, by);
    });
    after.actingDomainId = by.scope.domainId;
  },
};
