import { notFound } from "../../base/errors.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import { integer, list, option, timestamp, uuid } from "../../schema/field.ts";
import { type Action, json, visibleRow } from "../action.ts";

const id = uuid("Id.", { required: true });

const STATUS = {
  endpointId: uuid("Appliance it is about.", { required: true }),
  role: option("What it is to its partner.", ["primary", "backup", "standalone"], { required: true }),
  state: option("What it does now.", ["active", "standby", "takeover", "unreachable"], { required: true }),
  partnerEndpointId: uuid("Appliance that would take its place."),
  lastHeartbeatAt: timestamp("When its partner was last heard of."),
  activationGroupIds: list("Groups whose devices it activates now.", id, { required: true }),
  mode: option("Where it takes its orders from.", ["cloud", "lan", "solo"], { required: true }),
  term: integer("Number of the last change of roles.", { required: true }),
  since: timestamp("When the state began; null where nothing is known."),
  peers: list("Appliances that it hears of.", id, { required: true }),
};

const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** How an appliance stands to its partner. @source service-api.md, /v1/extensions; decisions.md 12 */
export const failoverStatusActions: readonly Action[] = [
  {
    method: "get",
    at: "extensions/{extensionId}/endpoints/{endpointId}/failover-status",
    doc: "How an appliance stands to the one that would take its place.",
    answers: { kind: "members", fields: STATUS },
    async handle(request) {
      const { extensionId, endpointId = "" } = request.params;
      const endpoint = visibleRow(request, endpoints, endpointId);
      if (endpoint.extensionId !== extensionId) throw notFound();
      const known = request.needs.failover(endpoint.id);
      return json({ ...known, lastHeartbeatAt: iso(known.lastHeartbeatAt), since: iso(known.since) });
    },
  },
];
