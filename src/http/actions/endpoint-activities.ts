import { forbidden, notFound } from "../../lib/errors.ts";
import endpointActivities from "../../resources/devices/endpoint-activities.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import { type Action, requireVisibleRow } from "../action.ts";

const { type, value, referenceType, referenceId, severity } = endpointActivities.fields;

/**
 * Commands to an appliance; requires the permission to change the appliance.
 * @source docs/decisions/0012-extensions-and-endpoints.md
 */
export const endpointActivityActions: readonly Action[] = [
  {
    method: "post",
    at: "extensions/{extensionId}/endpoints/{endpointId}/activities",
    doc: "Sends a command to an appliance.",
    response: { kind: "row", resource: endpointActivities },
    accepts: { type, value, referenceType, referenceId, severity },
    permission: "anyone",
    async handle(request) {
      const { deps, params, body, by } = request;
      const { id: endpointId, extensionId } = requireVisibleRow(request, endpoints, params.endpointId ?? "");
      if (extensionId !== params.extensionId) throw notFound();
      if (!by.scope.allows("put", `/extensions/${extensionId}/endpoints/${endpointId}`)) throw forbidden();
      const row = await deps.store.create(endpointActivities, body, by, { extensionId, endpointId });
      return request.respondWithRow(endpointActivities, row);
    },
  },
];
