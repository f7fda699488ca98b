import { invalidValue } from "../../lib/errors.ts";
import { integer, list, text } from "../../schema/field.ts";
import type { Action, ApiRequest } from "../action.ts";
import { textParameter } from "../query/query.ts";

const STREAM_QUERY = {
  lastEventId: integer("Last event that the caller has; the header Last-Event-ID says the same.", {
    max: Number.MAX_SAFE_INTEGER,
  }),
  resources: list("Resources that are told of.", text("Name of a resource.", { max: 140 })),
};

/**
 * Changes as they happen, as far as the user may see the rows. A client that was cut off names the last event it has in
 * `Last-Event-ID`, as browsers do, or in `lastEventId`; `resources[]` narrows what is told. Beside
 * rows: `deliveries` and `notification-activities` with the id of the message, `bell-rings` with the id `*` once the
 * next rings were planned anew.
 * @source decisions.md 13, Triggers
 */
export const eventActions: readonly Action[] = [
  {
    method: "get",
    at: "events",
    doc: "Changes as they happen, as server-sent events: ready, change {type, resource, id, op}, reset, end {reason}.",
    response: { kind: "bytes", types: ["text/event-stream"] },
    query: STREAM_QUERY,
    permission: "anyone",
    async handle(request) {
      const { needs, principal, by } = request;
      const listener = {
        principal,
        domainId: by.scope.domainId,
        since: sinceOf(request),
        resources: resourcesOf(request),
      };
      return {
        type: "text/event-stream; charset=utf-8",
        headers: { "X-Accel-Buffering": "no" },
        body: needs.eventStream.open(listener),
      };
    },
  },
];

function sinceOf({ header, query }: ApiRequest): number | null {
  const text = header("last-event-id") ?? textParameter(query, "lastEventId");
  if (text === null || text === "") return null;
  if (!/^\d{1,15}$/.test(text)) throw invalidValue("lastEventId", "It is the id of an event.");
  return Number(text);
}

function resourcesOf({ query }: ApiRequest): string[] | null {
  const given = query.resources;
  if (given === undefined) return null;
  const names = Array.isArray(given) ? given : [given];
  if (!names.every((name) => typeof name === "string")) throw invalidValue("resources", "They are names of resources.");
  return names;
}
