import { startLatencies } from "../../notifications/engine/start-latency.ts";
import { computed, integer, number, text, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse } from "../action.ts";

const REQUIRED = { required: true } as const;

const DELAY = {
  model: text("Device model.", REQUIRED),
  reports: integer("Number of reports, at most the newest 255.", REQUIRED),
  medianMs: number("Median delay after the first packet was due, without hold time.", {
    unit: "ms",
    ...REQUIRED,
  }),
  spreadMs: number("Range that contains nine tenths of the delays.", { unit: "ms", ...REQUIRED }),
  holdMs: integer("Delay added to its devices so that slower models start at the same time.", {
    unit: "ms",
    ...REQUIRED,
  }),
  measuredAt: timestamp("Time of the newest report.", REQUIRED),
};

/** Start latency by device model. */
export const startDelayActions: readonly Action[] = [
  {
    method: "get",
    at: "start-delays",
    doc: "Returns the reported start latency per device model and the delay added to synchronise with slower models.",
    response: {
      kind: "members",
      fields: { models: computed("Models, slowest first.", "array", { of: DELAY }) },
    },
    async handle({ deps }) {
      const models = startLatencies(deps.store);
      return jsonResponse({
        models: models.map((model) => ({ ...model, measuredAt: new Date(model.measuredAt).toISOString() })),
      });
    },
  },
];
