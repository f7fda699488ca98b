import { notFound } from "../../lib/errors.ts";
import { reorderFloors } from "../../places/floor-order.ts";
import buildings from "../../resources/places/buildings.ts";
import { list, uuid } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const ORDER = {
  floors: list("Ids of all floors of the building, the lowest first.", uuid("Id of a floor."), {
    required: true,
    maxItems: 100,
  }),
};
const validateFloorOrder = compileBodyValidator(ORDER);

/** What is done with places beside their rows. @source decisions.md 6; digest `/v1/sites/{siteId}/buildings/{buildingId}/reorder-floors` */
export const placeActions: readonly Action[] = [
  {
    method: "put",
    at: "sites/{siteId}/buildings/{buildingId}/reorder-floors",
    doc: "Puts the floors of a building in order.",
    response: { kind: "members", fields: ORDER },
    accepts: ORDER,
    async handle(request) {
      const { needs, params, body, by } = request;
      const { floors } = validateFloorOrder(body) as { floors: string[] };
      const building = requireVisibleRow(request, buildings, params.buildingId ?? "");
      if (building.siteId !== params.siteId) throw notFound();
      return jsonResponse({ floors: await reorderFloors(needs.store, building.id, floors, by) });
    },
  },
];
