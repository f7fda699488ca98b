import { forbidden } from "../../lib/errors.ts";
import { progressOverTime } from "../../notifications/engine/delivery-progress.ts";
import { expectedAndActualSeconds } from "../../notifications/engine/preview.ts";
import notifications from "../../resources/notifications/notifications.ts";
import { computed, integer, number, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";

const PROGRESS = {
  expectedSeconds: number(
    "Expected time from sending to the last device response, from earlier notifications; null without any.",
    {
      unit: "s",
    },
  ),
  tookSeconds: number("Actual duration; null before the end, and if the notification was cancelled or sent again.", {
    unit: "s",
  }),
  points: computed("Data points, at most 61, oldest first.", "array", {
    of: {
      at: timestamp("Time of the sample.", { required: true }),
      sent: integer("Deliveries sent by then.", { required: true }),
      accepted: integer("Deliveries accepted by then.", { required: true }),
      playing: integer("Deliveries verified as playing by then.", { required: true }),
      missed: integer("Deliveries failed or expired by then.", { required: true }),
      passedOver: integer("Deliveries skipped on purpose by then.", { required: true }),
    },
  }),
};

/** Progress of a notification over time: at most 61 points `{at, sent, accepted, playing, missed, passedOver}`. */
export const notificationProgressActions: readonly Action[] = [
  {
    method: "get",
    at: "notifications/{notificationId}/progress",
    doc: "Returns the progress of a notification over time.",
    response: { kind: "members", fields: PROGRESS },
    // Aggregates of data that the row itself shows.
    permission: "anyone",
    async handle(request) {
      const { deps, by } = request;
      const row = requireVisibleRow(request, notifications, request.params.notificationId ?? "");
      if (!by.scope.allows("get", `/notifications/${row.id}`)) throw forbidden();
      const points = await progressOverTime(row, deps.store, deps.clock);
      const seconds = expectedAndActualSeconds(row, deps.store);
      return jsonResponse({
        ...seconds,
        points: points.map((point) => ({ ...point, at: new Date(point.at).toISOString() })),
      });
    },
  },
];
