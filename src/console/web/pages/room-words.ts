import type { RoomLocation } from "../api/rows.ts";

/** Where a room lies, widest first. */
export function roomWords({ siteName, buildingName, floorName }: RoomLocation): string {
  return [siteName, buildingName, floorName].join(", ");
}
