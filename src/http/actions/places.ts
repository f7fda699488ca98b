import { notFound } from "../../lib/errors.ts";
import { reorderFloors } from "../../places/floor-order.ts";
import buildings from "../../resources/places/buildings.ts";
import { list, uuid } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const ORDER = {
  floors: list("Ids of all floors of the building, lowest first.", uuid("Id of a floor."), {
    required: true,
    maxItems: 100,
  }),
};
const validateFloorOrder = compileBodyValidator(ORDER);

/**
 * Reordering of floors.
 * @source docs/decisions/0006-places.md; docs/decisions/0042-api-contract.md,
 * `/v1/sites/{siteId}/buildings/{buildingId}/reorder-floors`
 */
export const placeActions: readonly Action[] = [
  {
    method: "put",
    at: "sites/{siteId}/buildings/{buildingId}/reorder-floors",
    doc: "Sets the order of the floors of a building.",
    response: { kind: "members", fields: ORDER },
    accepts: ORDER,
    async handle(request) {
      const { deps, params, body, by } = request;
      const { floors } = validateFloorOrder(body) as { floors: string[] };
      const building = requireVisibleRow(request, buildings, params.buildingId ?? "");
      if (building.siteId !== params.siteId) throw notFound();
      return jsonResponse({ floors: await reorderFloors(deps.store, building.id, floors, by) });
    },
  },
];
