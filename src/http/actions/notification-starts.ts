import { forbidden } from "../../lib/errors.ts";
import { deviceStartTimes, startSkewByModel } from "../../notifications/engine/device-start-times.ts";
import notifications from "../../resources/notifications/notifications.ts";
import { boolean, computed, integer, number, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";

const SURE = { required: true } as const;

const START = {
  deviceId: uuid("The device.", SURE),
  deviceIdentifier: text("Its identifier.", SURE),
  model: text("Its model, as it says."),
  startedAt: timestamp("When its sound began, as it says; null where it does not."),
  afterMs: number("After the first packet was due.", { unit: "ms" }),
  late: boolean("It joined after the first packet, at the place where the others were.", SURE),
  askedAgain: integer("How often it was asked again because it had dropped the sound.", SURE),
};

const MODEL = {
  model: text("The model.", SURE),
  devices: integer("Devices of it that said when they began.", SURE),
  medianMs: number("The middle of them, after the first packet was due.", { unit: "ms", required: true }),
  spreadMs: number("Between the first and the last of them.", { unit: "ms", required: true }),
};

/** When devices began to play. own choice: the path and its members */
export const notificationStartActions: readonly Action[] = [
  {
    method: "get",
    at: "notifications/{notificationId}/starts",
    doc: "When the devices that say so began to play a notification, and how far apart those of one model were.",
    response: {
      kind: "members",
      fields: {
        t0: timestamp("When the first packet was due; null before the sound."),
        models: computed("By model, those that began last first.", "array", { of: MODEL }),
        data: computed("The devices, the earliest first; at most 5,000.", "array", { of: START }),
      },
    },
    // What the devices of the row itself show.
    permission: "anyone",
    async handle(request) {
      const { needs, by } = request;
      const row = requireVisibleRow(request, notifications, request.params.notificationId ?? "");
      if (!by.scope.allows("get", `/notifications/${row.id}`)) throw forbidden();
      const starts = deviceStartTimes(row, needs.store);
      return jsonResponse({
        t0: isoOf(row.t0),
        models: startSkewByModel(starts),
        data: starts.map((start) => ({ ...start, startedAt: isoOf(start.startedAt) })),
      });
    },
  },
];

function isoOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
