import { invalidValue, requiredValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type areasOfInterest from "../resources/areas/areas-of-interest.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ResourceHooks, RowMutation } from "../store/store.ts";

type AreaRow = RowOf<typeof areasOfInterest>;

/** Validates the circle of an area; a changed area is compared with all known positions. @source docs/decisions/0005-users-and-devices.md, Location */
export const areaHooks: ResourceHooks<typeof areasOfInterest> = {
  beforeWrite({ before, after }) {
    if (!after) return;
    after.geometryValue = completeGeometry(after, before);
    // Both device kinds together mean all kinds. @source docs/decisions/0005-users-and-devices.md, Location
    const kinds = [...new Set(after.syncedDeviceTypes)];
    after.syncedDeviceTypes = kinds.length === 2 ? [] : kinds;
  },
  afterWrite(change, tx) {
    const { before, after } = change;
    const id = (after ?? before)?.id;
    if (!id || !isGeometryChanged(change)) return;
    tx.run("INSERT OR REPLACE INTO area_rechecks (area, after) VALUES (?, 0)", id);
    tx.emit("area.geometry-changed", { areaOfInterestId: id });
  },
};

function completeGeometry({ geometryValue }: AreaRow, before: AreaRow | null): NonNullable<AreaRow["geometryValue"]> {
  if (!geometryValue) throw requiredValue("geometryValue");
  const geometry = { ...before?.geometryValue?.geometry, ...geometryValue.geometry };
  const { coordinates } = geometry;
  const radiusInM = geometryValue.properties?.radiusInM ?? before?.geometryValue?.properties?.radiusInM;
  if (!coordinates) throw requiredValue("geometryValue.geometry.coordinates");
  if (Math.abs(coordinates[1] ?? Number.NaN) > 90) {
    throw invalidValue(
      "geometryValue.geometry.coordinates",
      sentence("field.must-be-longitude-latitude-with-a-latitude-between-90-and"),
    );
  }
  if (!radiusInM) throw requiredValue("geometryValue.properties.radiusInM");
  return { type: "Feature", geometry: { type: "Point", coordinates }, properties: { radiusInM } };
}

function isGeometryChanged({ before, after }: RowMutation<typeof areasOfInterest>): boolean {
  const shapeOf = (area: AreaRow | null): string => JSON.stringify([area?.geometryValue, area?.syncedDeviceTypes]);
  return shapeOf(before) !== shapeOf(after);
}
