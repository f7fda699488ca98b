import { startLatencies } from "../../notifications/engine/start-latency.ts";
import { computed, integer, number, text, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse } from "../action.ts";

const SURE = { required: true } as const;

const DELAY = {
  model: text("The model, as its devices say.", SURE),
  reports: integer("Reports that this follows from, at most the newest 255.", SURE),
  medianMs: number("The middle of them, after the first packet was due, held back by nothing.", {
    unit: "ms",
    ...SURE,
  }),
  spreadMs: number("Within which nine of ten of them lie.", { unit: "ms", ...SURE }),
  holdMs: integer("By how much its devices are held back, so that slower models sound together with them.", {
    unit: "ms",
    ...SURE,
  }),
  measuredAt: timestamp("When the newest report came.", SURE),
};

/** How long models take to begin. own choice: the path and its members */
export const startDelayActions: readonly Action[] = [
  {
    method: "get",
    at: "start-delays",
    doc: "How long the devices of each model take to begin to sound, as they have said, and by how much faster ones are held back for slower ones.",
    response: {
      kind: "members",
      fields: { models: computed("Those that begin last first.", "array", { of: DELAY }) },
    },
    async handle({ needs }) {
      const models = startLatencies(needs.store);
      return jsonResponse({
        models: models.map((model) => ({ ...model, measuredAt: new Date(model.measuredAt).toISOString() })),
      });
    },
  },
];
