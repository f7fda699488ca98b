import { forbidden } from "../../base/errors.ts";
import { progressOverTime } from "../../broadcast/progress.ts";
import notifications from "../../resources/broadcasts/notifications.ts";
import { type Action, json, visibleRow } from "../action.ts";

/** How a message's numbers grew. own choice: the path, and at most 61 points `{at, sent, accepted, playing, missed}` */
export const notificationProgressActions: readonly Action[] = [
  {
    method: "get",
    at: "notifications/{notificationId}/progress",
    // Sums of what the row itself shows.
    permission: "anyone",
    async handle(request) {
      const { needs, by } = request;
      const row = visibleRow(request, notifications, request.params.notificationId ?? "");
      if (!by.scope.allows("get", `/notifications/${row.id}`)) throw forbidden();
      const points = progressOverTime(row, needs.store, needs.clock.now());
      return json({ points: points.map((point) => ({ ...point, at: new Date(point.at).toISOString() })) });
    },
  },
];
