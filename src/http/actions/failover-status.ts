import { notFound } from "../../lib/errors.ts";
import { presentFailoverStatus } from "../../ops/health/failover-status.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import { FAILOVER_STATUS_FIELDS } from "../../resources/devices/failover-status-fields.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";

/**
 * Failover status of an appliance.
 * @source docs/decisions/0012-extensions-and-endpoints.md; docs/decisions/0042-api-contract.md, `/v1/extensions`
 */
export const failoverStatusActions: readonly Action[] = [
  {
    method: "get",
    at: "extensions/{extensionId}/endpoints/{endpointId}/failover-status",
    doc: "Returns the failover status of an appliance.",
    response: { kind: "members", fields: FAILOVER_STATUS_FIELDS },
    async handle(request) {
      const { extensionId, endpointId = "" } = request.params;
      const endpoint = requireVisibleRow(request, endpoints, endpointId);
      if (endpoint.extensionId !== extensionId) throw notFound();
      return jsonResponse(presentFailoverStatus(request.deps.failover(endpoint.id)));
    },
  },
];
