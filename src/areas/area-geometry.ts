import type { StoreReader } from "../store/store.ts";
import { distanceMetres, type GeoPoint } from "./geo-distance.ts";

/** An area as far as positions are compared with it. */
export interface AreaCircle {
  id: string;
  centre: GeoPoint;
  radiusM: number;
  /** Kinds of devices that count; none means all. */
  deviceKinds: readonly string[];
}

/** Where a device says that it is. */
export interface DevicePosition extends GeoPoint {
  /** Radius of uncertainty. */
  accuracyM: number;
}

/** Surely inside, surely outside, or too near the edge to say. */
export type Containment = "inside" | "outside" | "edge";

/** Types of user devices by the kinds that areas name. own choice: addresses for mail, text and calls are of no kind */
const DEVICE_KIND_BY_TYPE: Readonly<Record<string, string>> = {
  Android: "mobile",
  GCM: "mobile",
  apns: "mobile",
  "apns-sandbox": "mobile",
  APNS: "mobile",
  desktop: "desktop",
  "web-push": "desktop",
};

/** All areas, or the one named; at most twenty. */
export function loadAreaCircles(reader: StoreReader, id?: string): AreaCircle[] {
  const rows = reader.all<{ id: string; longitude: number; latitude: number; radiusM: number; kinds: string | null }>(
    `SELECT id, json_extract(geometry_value, '$.geometry.coordinates[0]') AS longitude,
       json_extract(geometry_value, '$.geometry.coordinates[1]') AS latitude,
       json_extract(geometry_value, '$.properties.radiusInM') AS radiusM, synced_device_types AS kinds
     FROM areas_of_interest${id === undefined ? "" : " WHERE id = ?"}`,
    ...(id === undefined ? [] : [id]),
  );
  return rows.map(({ id, longitude, latitude, radiusM, kinds }) => ({
    id,
    centre: { longitude, latitude },
    radiusM,
    deviceKinds: kinds === null ? [] : (JSON.parse(kinds) as string[]),
  }));
}

/**
 * Where a position lies; devices of other kinds than the area's are outside wherever they are. A position whose circle
 * of uncertainty straddles the edge is on it. @source decisions.md 5
 */
export function containmentOf(circle: AreaCircle, position: DevicePosition, deviceType: string): Containment {
  const { deviceKinds, radiusM } = circle;
  if (deviceKinds.length > 0 && !deviceKinds.includes(DEVICE_KIND_BY_TYPE[deviceType] ?? "")) return "outside";
  const distance = distanceMetres(circle.centre, position);
  if (distance + position.accuracyM <= radiusM) return "inside";
  return distance - position.accuracyM > radiusM ? "outside" : "edge";
}
