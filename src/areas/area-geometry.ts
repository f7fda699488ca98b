import type { StoreReader } from "../store/store.ts";
import { distanceMetres, type GeoPoint } from "./geo-distance.ts";

/** An area, as far as positions are compared with it. */
export interface AreaCircle {
  id: string;
  centre: GeoPoint;
  radiusM: number;
  /** Device kinds that count; empty means all. */
  deviceKinds: readonly string[];
}

/** Reported position of a device. */
export interface DevicePosition extends GeoPoint {
  /** Radius of uncertainty in metres. */
  accuracyM: number;
}

/** `edge`: too close to the edge to decide. */
export type Containment = "inside" | "outside" | "edge";

/** User device types by the device kinds of areas. Addresses for mail, text and calls have no kind. @source docs/decisions/0202-areas-of-interest.md */
const DEVICE_KIND_BY_TYPE: Readonly<Record<string, string>> = {
  Android: "mobile",
  GCM: "mobile",
  apns: "mobile",
  "apns-sandbox": "mobile",
  APNS: "mobile",
  desktop: "desktop",
  "web-push": "desktop",
};

/** All areas, or one; at most twenty. */
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
 * Containment of a position; devices of other kinds than the area's are always outside. A position whose circle of
 * uncertainty crosses the edge is on the edge. @source docs/decisions/0005-users-and-devices.md, Location
 */
export function containmentOf(circle: AreaCircle, position: DevicePosition, deviceType: string): Containment {
  const { deviceKinds, radiusM } = circle;
  if (deviceKinds.length > 0 && !deviceKinds.includes(DEVICE_KIND_BY_TYPE[deviceType] ?? "")) return "outside";
  const distance = distanceMetres(circle.centre, position);
  if (distance + position.accuracyM <= radiusM) return "inside";
  return distance - position.accuracyM > radiusM ? "outside" : "edge";
}
