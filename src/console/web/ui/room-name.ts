import type { RoomLocation } from "../api/rows.ts";

/** Name of a room with its floor, building and site, widest first. */
export function roomName({ siteName, buildingName, floorName }: RoomLocation): string {
  return [siteName, buildingName, floorName].join(", ");
}
