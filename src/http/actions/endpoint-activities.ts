import { forbidden, notFound } from "../../lib/errors.ts";
import endpointActivities from "../../resources/devices/endpoint-activities.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import { type Action, requireVisibleRow } from "../action.ts";

const { type, value, referenceType, referenceId, severity } = endpointActivities.fields;

/** Orders to an appliance: whoever may change it may give them. @source decisions.md 12 */
export const endpointActivityActions: readonly Action[] = [
  {
    method: "post",
    at: "extensions/{extensionId}/endpoints/{endpointId}/activities",
    doc: "Gives an order to an appliance.",
    response: { kind: "row", resource: endpointActivities },
    accepts: { type, value, referenceType, referenceId, severity },
    permission: "anyone",
    async handle(request) {
      const { needs, params, body, by } = request;
      const { id: endpointId, extensionId } = requireVisibleRow(request, endpoints, params.endpointId ?? "");
      if (extensionId !== params.extensionId) throw notFound();
      if (!by.scope.allows("put", `/extensions/${extensionId}/endpoints/${endpointId}`)) throw forbidden();
      const row = await needs.store.create(endpointActivities, body, by, { extensionId, endpointId });
      return request.respondWithRow(endpointActivities, row);
    },
  },
];
