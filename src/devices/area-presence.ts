import type { InternalTable, StoreReader } from "../store/store.ts";

/**
 * Which user devices are inside which areas of interest now, written by `areas/`. Areas stand by their id, since internal
 * keys are used again; `user` owns the device, so that an area's people can be walked in order.
 */
export const AREA_PRESENCE: InternalTable = {
  name: "area_presence",
  sql: `CREATE TABLE IF NOT EXISTS area_presence (
    area TEXT NOT NULL, user INTEGER NOT NULL REFERENCES users(pk) ON DELETE CASCADE,
    device INTEGER NOT NULL REFERENCES user_devices(pk) ON DELETE CASCADE,
    PRIMARY KEY (area, user, device)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS area_presence__device ON area_presence(device);
  CREATE INDEX IF NOT EXISTS area_presence__user ON area_presence(user)`,
};

/** Ids of the areas that a device is inside of, by the device's internal key; one query. Devices inside none are absent. */
export function areaIdsOfDevices(reader: StoreReader, devices: readonly number[]): Map<number, string[]> {
  const found = new Map<number, string[]>();
  const rows = reader.all<{ device: number; area: string }>(
    `SELECT p.device, p.area FROM area_presence p JOIN areas_of_interest a ON a.id = p.area
     WHERE p.device IN (SELECT value FROM json_each(?)) ORDER BY a.pk`,
    JSON.stringify(devices),
  );
  for (const { device, area } of rows) found.set(device, [...(found.get(device) ?? []), area]);
  return found;
}
