import { notFound } from "../../lib/errors.ts";
import { presentFailoverStatus } from "../../ops/health/failover-status.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import { FAILOVER_STATUS_FIELDS } from "../../resources/devices/failover-status-fields.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";

/** How an appliance stands to its partner. @source service-api.md, /v1/extensions; decisions.md 12 */
export const failoverStatusActions: readonly Action[] = [
  {
    method: "get",
    at: "extensions/{extensionId}/endpoints/{endpointId}/failover-status",
    doc: "How an appliance stands to the one that would take its place.",
    response: { kind: "members", fields: FAILOVER_STATUS_FIELDS },
    async handle(request) {
      const { extensionId, endpointId = "" } = request.params;
      const endpoint = requireVisibleRow(request, endpoints, endpointId);
      if (endpoint.extensionId !== extensionId) throw notFound();
      return jsonResponse(presentFailoverStatus(request.needs.failover(endpoint.id)));
    },
  },
];
