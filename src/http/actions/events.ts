import { invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { integer, list, text } from "../../schema/field.ts";
import type { Action, ApiRequest } from "../action.ts";
import { textParameter } from "../query/query.ts";

const STREAM_QUERY = {
  lastEventId: integer("Id of the last received event; alternative to the header Last-Event-ID.", {
    max: Number.MAX_SAFE_INTEGER,
  }),
  resources: list("Only changes of these resources.", text("Name of a resource.", { max: 140 })),
};

/**
 * Change events for rows visible to the user. A disconnected client resumes with the header `Last-Event-ID`, as
 * browsers do, or with `lastEventId`; `resources[]` filters the events. In addition to rows: `deliveries` and
 * `notification-activities` with the id of the notification, and `bell-rings` with the id `*` after the next rings
 * were replanned.
 * @source docs/decisions/0013-other-resources.md, Triggers
 */
export const eventActions: readonly Action[] = [
  {
    method: "get",
    at: "events",
    doc: "Streams changes as server-sent events: ready, change {type, resource, id, op}, reset, end {reason}.",
    response: { kind: "bytes", types: ["text/event-stream"] },
    query: STREAM_QUERY,
    permission: "anyone",
    async handle(request) {
      const { deps, principal, by } = request;
      const listener = {
        principal,
        domainId: by.scope.domainId,
        since: sinceOf(request),
        resources: resourcesOf(request),
      };
      return {
        type: "text/event-stream; charset=utf-8",
        headers: { "X-Accel-Buffering": "no" },
        body: deps.eventStream.open(listener),
      };
    },
  },
];

function sinceOf({ header, query }: ApiRequest): number | null {
  const text = header("last-event-id") ?? textParameter(query, "lastEventId");
  if (text === null || text === "") return null;
  if (!/^\d{1,15}$/.test(text)) throw invalidValue("lastEventId", sentence("field.must-be-the-id-of-an-event"));
  return Number(text);
}

function resourcesOf({ query }: ApiRequest): string[] | null {
  const given = query.resources;
  if (given === undefined) return null;
  const names = Array.isArray(given) ? given : [given];
  if (!names.every((name) => typeof name === "string"))
    throw invalidValue("resources", sentence("field.must-be-names-of-resources"));
  return names;
}
