import extensions from "../../resources/devices/extensions.ts";
import { computed, integer, text, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { integerParameter } from "../query/query.ts";

const DEFAULT_LOG_LINES = 100;
const MAX_LOG_LINES = 500;

const SEQ = { max: Number.MAX_SAFE_INTEGER, required: true } as const;
const LOG_QUERY = {
  limit: integer("Most lines.", { min: 1, max: MAX_LOG_LINES, default: DEFAULT_LOG_LINES }),
  after: integer("`newest` of an earlier answer: only what came since.", { max: Number.MAX_SAFE_INTEGER }),
};
const LOG_RESPONSE = {
  data: computed("Lines.", "array", {
    of: {
      seq: integer("Counts the plugin's lines.", SEQ),
      at: timestamp("When it was written.", { required: true }),
      level: text("How bad it is.", { required: true }),
      message: text("The line.", { required: true, max: 100_000 }),
      details: text("What was logged with it, as JSON.", { max: 100_000 }),
    },
  }),
  newest: integer("Sent as `after`, it asks for what comes next.", SEQ),
};

/**
 * What can be done with the plugin behind an extension. own choice: `POST /v1/extensions/{id}/restart` starts it anew,
 * also when it was given up; `GET /v1/extensions/{id}/log?limit=&after=` answers the newest of its last 500 lines, oldest
 * first, and `newest`, to be sent as `after` by whoever follows.
 */
export const extensionActions: readonly Action[] = [
  {
    method: "post",
    at: "extensions/{extensionId}/restart",
    doc: "Starts the plugin behind an extension anew, also when it was given up.",
    response: { kind: "row", resource: extensions },
    async handle(request) {
      const { needs, params, by } = request;
      const { id } = requireVisibleRow(request, extensions, params.extensionId ?? "");
      await needs.plugins.restart(id, by);
      return request.respondWithRow(extensions, requireVisibleRow(request, extensions, id));
    },
  },
  {
    method: "get",
    at: "extensions/{extensionId}/log",
    doc: "The newest lines of a plugin's log, oldest first.",
    query: LOG_QUERY,
    response: { kind: "members", fields: LOG_RESPONSE },
    async handle(request) {
      const { id } = requireVisibleRow(request, extensions, request.params.extensionId ?? "");
      const after = integerParameter(request.query, "after", 0, Number.MAX_SAFE_INTEGER) ?? 0;
      const limit = integerParameter(request.query, "limit", 1, MAX_LOG_LINES) ?? DEFAULT_LOG_LINES;
      const lines = request.needs.plugins.readLog(id, limit, after) ?? [];
      const data = lines.map((line) => ({ ...line, at: new Date(line.at).toISOString() }));
      return jsonResponse({ data, newest: lines.at(-1)?.seq ?? after });
    },
  },
];
