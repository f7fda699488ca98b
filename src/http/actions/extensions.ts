import extensions from "../../resources/devices/extensions.ts";
import { computed, integer, text, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { integerParameter } from "../query/query.ts";

const DEFAULT_LOG_LINES = 100;
const MAX_LOG_LINES = 500;

const SEQ = { max: Number.MAX_SAFE_INTEGER, required: true } as const;
const LOG_QUERY = {
  limit: integer("Maximum number of lines.", { min: 1, max: MAX_LOG_LINES, default: DEFAULT_LOG_LINES }),
  after: integer("`newest` of an earlier response; returns only newer lines.", { max: Number.MAX_SAFE_INTEGER }),
};
const LOG_RESPONSE = {
  data: computed("Log lines.", "array", {
    of: {
      seq: integer("Sequence number of the line.", SEQ),
      at: timestamp("Time of the line.", { required: true }),
      level: text("Log level.", { required: true }),
      message: text("Message.", { required: true, max: 100_000 }),
      details: text("Fields of the line, as JSON.", { max: 100_000 }),
    },
  }),
  newest: integer("Sequence number to send as `after` for the next lines.", SEQ),
};

/**
 * Restart and log of the plugin of an extension. `POST /v1/extensions/{id}/restart` also works after restarts were
 * given up; `GET /v1/extensions/{id}/log?limit=&after=` returns the newest of its last 500 lines, oldest first, and
 * `newest` to be sent as `after`.
 */
export const extensionActions: readonly Action[] = [
  {
    method: "post",
    at: "extensions/{extensionId}/restart",
    doc: "Restarts the plugin of an extension, even if it had stopped after repeated failures.",
    response: { kind: "row", resource: extensions },
    async handle(request) {
      const { deps, params, by } = request;
      const { id } = requireVisibleRow(request, extensions, params.extensionId ?? "");
      await deps.plugins.restart(id, by);
      return request.respondWithRow(extensions, requireVisibleRow(request, extensions, id));
    },
  },
  {
    method: "get",
    at: "extensions/{extensionId}/log",
    doc: "Returns the newest log lines of a plugin, oldest first.",
    query: LOG_QUERY,
    response: { kind: "members", fields: LOG_RESPONSE },
    async handle(request) {
      const { id } = requireVisibleRow(request, extensions, request.params.extensionId ?? "");
      const after = integerParameter(request.query, "after", 0, Number.MAX_SAFE_INTEGER) ?? 0;
      const limit = integerParameter(request.query, "limit", 1, MAX_LOG_LINES) ?? DEFAULT_LOG_LINES;
      const lines = request.deps.plugins.readLog(id, limit, after) ?? [];
      const data = lines.map((line) => ({ ...line, at: new Date(line.at).toISOString() }));
      return jsonResponse({ data, newest: lines.at(-1)?.seq ?? after });
    },
  },
];
