import { forbidden } from "../../lib/errors.ts";
import { progressOverTime } from "../../notifications/engine/delivery-progress.ts";
import { expectedAndActualSeconds } from "../../notifications/engine/preview.ts";
import notifications from "../../resources/notifications/notifications.ts";
import { computed, integer, number, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";

const PROGRESS = {
  expectedSeconds: number(
    "From the send to the last word of a device, by the broadcasts before it; null before the first.",
    {
      unit: "s",
    },
  ),
  tookSeconds: number("What it took; null before its end, and where somebody ended it or sent it again.", {
    unit: "s",
  }),
  points: computed("At most 61, oldest first.", "array", {
    of: {
      at: timestamp("The moment.", { required: true }),
      sent: integer("Sent by then.", { required: true }),
      accepted: integer("Said yes by then.", { required: true }),
      playing: integer("Proven to play by then.", { required: true }),
      missed: integer("Failed by then, or in time no more.", { required: true }),
      passedOver: integer("Passed over on purpose by then, which is no fault.", { required: true }),
    },
  }),
};

/** How a message's numbers grew. own choice: the path, and at most 61 points `{at, sent, accepted, playing, missed, passedOver}` */
export const notificationProgressActions: readonly Action[] = [
  {
    method: "get",
    at: "notifications/{notificationId}/progress",
    doc: "How the numbers of a notification grew.",
    response: { kind: "members", fields: PROGRESS },
    // Sums of what the row itself shows.
    permission: "anyone",
    async handle(request) {
      const { needs, by } = request;
      const row = requireVisibleRow(request, notifications, request.params.notificationId ?? "");
      if (!by.scope.allows("get", `/notifications/${row.id}`)) throw forbidden();
      const points = progressOverTime(row, needs.store, needs.clock.now());
      const seconds = expectedAndActualSeconds(row, needs.store);
      return jsonResponse({
        ...seconds,
        points: points.map((point) => ({ ...point, at: new Date(point.at).toISOString() })),
      });
    },
  },
];
