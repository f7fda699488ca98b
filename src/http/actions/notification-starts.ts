import { forbidden } from "../../lib/errors.ts";
import { deviceStartTimes, startSkewByModel } from "../../notifications/engine/device-start-times.ts";
import notifications from "../../resources/notifications/notifications.ts";
import { boolean, computed, integer, number, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";

const REQUIRED = { required: true } as const;

const START = {
  deviceId: uuid("Id of the device.", REQUIRED),
  deviceIdentifier: text("Identifier of the device.", REQUIRED),
  model: text("Model reported by the device."),
  startedAt: timestamp("Start of playback reported by the device; null if not reported."),
  afterMs: number("Delay after the first packet was due.", { unit: "ms" }),
  late: boolean("The device joined after the first packet, at the current position.", REQUIRED),
  askedAgain: integer("Number of times playback was requested again because the device had stopped.", REQUIRED),
};

const MODEL = {
  model: text("Device model.", REQUIRED),
  devices: integer("Number of devices of the model that reported a start.", REQUIRED),
  medianMs: number("Median delay after the first packet was due.", { unit: "ms", required: true }),
  spreadMs: number("Time between the first and the last start.", { unit: "ms", required: true }),
};

/** When devices began to play. */
export const notificationStartActions: readonly Action[] = [
  {
    method: "get",
    at: "notifications/{notificationId}/starts",
    doc: "Returns reported playback start times of a notification and the spread per model.",
    response: {
      kind: "members",
      fields: {
        t0: timestamp("When the first packet was due; null before the audio starts."),
        models: computed("Models, latest start first.", "array", { of: MODEL }),
        data: computed("Devices, earliest start first; at most 5,000.", "array", { of: START }),
      },
    },
    // Part of the devices that the row itself shows.
    permission: "anyone",
    async handle(request) {
      const { deps, by } = request;
      const row = requireVisibleRow(request, notifications, request.params.notificationId ?? "");
      if (!by.scope.allows("get", `/notifications/${row.id}`)) throw forbidden();
      const starts = deviceStartTimes(row, deps.store);
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
