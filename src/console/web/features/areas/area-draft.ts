import type { AreaRow } from "../../api/place-rows.ts";

/** An area as it is drawn. */
export interface AreaDraft {
  name: string;
  latitude: number;
  longitude: number;
  radiusInM: number;
  syncedDeviceTypes: readonly string[];
}

/** A middle and how far it is round it. */
export type AreaCircle = Pick<AreaDraft, "latitude" | "longitude" | "radiusInM">;

/** A millionth of a degree is a tenth of a metre. */
const FINE = 1e6;

/** Draft of an existing area. */
export function areaDraftOf({ name, geometryValue, syncedDeviceTypes }: AreaRow): AreaDraft {
  const [longitude = 0, latitude = 0] = geometryValue.geometry?.coordinates ?? [];
  return { name, latitude, longitude, radiusInM: geometryValue.properties?.radiusInM ?? 1, syncedDeviceTypes };
}

/** Request body of a draft. */
export function areaBody({
  name,
  latitude,
  longitude,
  radiusInM,
  syncedDeviceTypes,
}: AreaDraft): Record<string, unknown> {
  return {
    name,
    geometryType: "circle",
    geometryValue: {
      type: "Feature",
      geometry: { type: "Point", coordinates: [longitude, latitude] },
      properties: { radiusInM },
    },
    syncedDeviceTypes,
  };
}

/** The draft with its middle elsewhere, brought back to within half a turn of Greenwich. */
export function withCenter(draft: AreaDraft, latitude: number, longitude: number): AreaDraft {
  const turned = ((((longitude + 180) % 360) + 360) % 360) - 180;
  return { ...draft, latitude: fine(Math.min(90, Math.max(-90, latitude))), longitude: fine(turned) };
}

/** The draft with another radius, to whole metres within what areas may have. */
export function withRadius(draft: AreaDraft, radiusInM: number): AreaDraft {
  return { ...draft, radiusInM: Math.min(1_000_000, Math.max(1, Math.round(radiusInM))) };
}

/** Whether all required fields are set. */
export function isAreaComplete({ name, latitude, longitude, radiusInM }: AreaDraft): boolean {
  return name.trim() !== "" && [latitude, longitude, radiusInM].every(Number.isFinite);
}

function fine(degrees: number): number {
  return Math.round(degrees * FINE) / FINE;
}
