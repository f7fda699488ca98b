import type { StoreReader } from "../store/store.ts";
import type { Location } from "./location-levels.ts";

/** Floor plan of each location's floor, with the boundary of its zone; null without one. One query. */
export function floorPlansOf(
  places: readonly Partial<Location>[],
  reader: StoreReader,
): (Record<string, unknown> | null)[] {
  const ids = places.flatMap(({ floorId, zoneId }) => [floorId, zoneId].filter((id) => id));
  const wanted = JSON.stringify([...new Set(ids)]);
  const lines = reader.all<Record<string, string | null>>(
    `SELECT f.id, f.name, s.id AS site, b.id AS building, f.floor_plan_image ->> 'contentType' AS contentType,
       f.image_origins AS origins, f.boundary, NULL AS zone
     FROM floors f JOIN buildings b ON b.pk = f.building_pk JOIN sites s ON s.pk = f.site_pk
     WHERE f.floor_plan_image IS NOT NULL AND f.id IN (SELECT value FROM json_each(?))
     UNION ALL SELECT f.id, NULL, NULL, NULL, NULL, NULL, z.boundary, z.id FROM zones z JOIN floors f ON f.pk = z.floor_pk
     WHERE z.id IN (SELECT value FROM json_each(?))`,
    wanted,
    wanted,
  );
  const floors = new Map(lines.filter(({ zone }) => zone === null).map((line) => [line.id, line]));
  const outlines = new Map(lines.filter(({ zone }) => zone !== null).map((line) => [line.zone, line.boundary]));
  return places.map(({ floorId, zoneId }) => {
    const floor = floors.get(floorId ?? "");
    if (!floor) return null;
    const { id, name, site, building, contentType, origins } = floor;
    return {
      ...{ floorId: id, floorName: name, contentType },
      url: `/api/v1/sites/${site}/buildings/${building}/floors/${id}/floorPlanImage`,
      imageOrigins: parsed(origins),
      boundary: parsed(outlines.get(zoneId ?? "") ?? floor.boundary),
    };
  });
}

function parsed(text: string | null | undefined): unknown {
  return typeof text === "string" ? JSON.parse(text) : null;
}
