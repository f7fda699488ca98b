import calendarSubscriptions from "../../resources/bells/calendar-subscriptions.ts";
import { text } from "../../schema/field.ts";
import { type Action, requireVisibleRow } from "../action.ts";

/** Fetching subscribed calendars, and confirming their changes. */
export const calendarSubscriptionActions: readonly Action[] = [
  {
    method: "post",
    at: "calendar-subscriptions/{calendarSubscriptionId}/refresh",
    doc: "Fetches a calendar now and applies its changes, as at the next interval. An address that cannot be read is no error: `state` and `reason` say so.",
    response: { kind: "row", resource: calendarSubscriptions },
    async handle(request) {
      const { id } = requireVisibleRow(request, calendarSubscriptions, request.params.calendarSubscriptionId ?? "");
      return request.respondWithRow(calendarSubscriptions, await request.deps.calendars.refresh(id));
    },
  },
  {
    method: "post",
    at: "calendar-subscriptions/{calendarSubscriptionId}/confirmation",
    doc: "Applies the changes of a calendar that wait (`pendingChanges`). 409 if other changes wait now.",
    response: { kind: "row", resource: calendarSubscriptions },
    accepts: {
      pendingId: text("`pendingId` of the changes that were shown; without it whatever waits is applied.", { max: 64 }),
    },
    async handle(request) {
      const { id } = requireVisibleRow(request, calendarSubscriptions, request.params.calendarSubscriptionId ?? "");
      const { pendingId } = request.body as { pendingId?: string | null };
      return request.respondWithRow(
        calendarSubscriptions,
        await request.deps.calendars.confirm(id, pendingId ?? null, request.by),
      );
    },
  },
];
