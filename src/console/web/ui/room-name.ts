import type { Room } from "../api/rows.ts";

/** Where a room lies, widest first. */
export function roomName({ siteName, buildingName, floorName }: Room): string {
  return [siteName, buildingName, floorName].join(", ");
}
