import type { InternalTable, StoreReader } from "../store/store.ts";

/**
 * Which user devices are inside which areas of interest; written by `areas/`. Areas are stored by id, because internal keys
 * are reused; `user` owns the device, so that the people of an area can be read in order.
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

/** Ids of the areas that each device (internal key) is inside of, in one query. Devices outside of all areas are absent. */
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
