import { notFound } from "../../base/errors.ts";
import { shownFailover } from "../../health/failover-status.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import { FAILOVER_STATUS } from "../../resources/devices/failover-fields.ts";
import { type Action, json, visibleRow } from "../action.ts";

/** How an appliance stands to its partner. @source service-api.md, /v1/extensions; decisions.md 12 */
export const failoverStatusActions: readonly Action[] = [
  {
    method: "get",
    at: "extensions/{extensionId}/endpoints/{endpointId}/failover-status",
    doc: "How an appliance stands to the one that would take its place.",
    answers: { kind: "members", fields: FAILOVER_STATUS },
    async handle(request) {
      const { extensionId, endpointId = "" } = request.params;
      const endpoint = visibleRow(request, endpoints, endpointId);
      if (endpoint.extensionId !== extensionId) throw notFound();
      return json(shownFailover(request.needs.failover(endpoint.id)));
    },
  },
];
