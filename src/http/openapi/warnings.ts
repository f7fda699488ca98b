import type { JsonSchema } from "../../schema/json-schema.ts";

/** Codes of warnings about input without effect. @source docs/decisions/0504-unknown-parameters.md */
export const IGNORED_INPUT_CODES = ["unknown-parameter", "unknown-field", "unsupported-value"] as const;

/** Schema of `warnings`, which a response has only if there are any. */
export const WARNINGS_SCHEMA: JsonSchema = {
  type: "array",
  description: "What the request contained without effect; absent if nothing.",
  items: {
    type: "object",
    required: ["code", "parameter", "message"],
    properties: {
      code: { enum: IGNORED_INPUT_CODES },
      parameter: { type: "string", description: "Name of the query parameter or body field." },
      message: { type: "string" },
      messageSentence: {
        type: "object",
        description: "The message by code and parameters, as beside other texts.",
        required: ["code", "params"],
        properties: { code: { type: "string" }, params: { type: "object" } },
      },
    },
  },
};
