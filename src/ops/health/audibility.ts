import type { StoreReader } from "../../store/store.ts";

/** Devices of an appliance that do not respond, and where they are. */
export interface SilentDevices {
  endpointId: string;
  silent: number;
  /** Devices that have responded or were silent at their last message or test. */
  total: number;
  /** Silent devices by building, the most first; null for devices without a room. */
  places: { place: string | null; count: number }[];
}

// The index on the state alone answers the first; few devices are silent.
const TOTALS = `SELECT e.id AS endpoint, count(*) AS total, sum(d.state = 'silent') AS silent
  FROM devices d JOIN endpoints e ON e.pk = d.endpoint_pk
  WHERE d.state IN ('answering', 'silent') AND d.defunct IS NOT 1 GROUP BY 1`;
const PLACES = `SELECT e.id AS endpoint, b.name AS place, count(*) AS count
  FROM devices d JOIN endpoints e ON e.pk = d.endpoint_pk LEFT JOIN zones z ON z.pk = d.zone_pk
  LEFT JOIN floors f ON f.pk = z.floor_pk LEFT JOIN buildings b ON b.pk = f.building_pk
  WHERE d.state = 'silent' AND d.defunct IS NOT 1 GROUP BY 1, 2 ORDER BY 3 DESC, 2`;

/** Devices that do not respond, of each appliance that has some. Zones, which cannot respond, do not count. */
export function silentDevices(reader: StoreReader): SilentDevices[] {
  const totals = reader.all<{ endpoint: string; total: number; silent: number }>(TOTALS);
  if (!totals.some(({ silent }) => silent > 0)) return [];
  const places = reader.all<{ endpoint: string; place: string | null; count: number }>(PLACES);
  return totals
    .filter(({ silent }) => silent > 0)
    .map(({ endpoint, total, silent }) => ({
      endpointId: endpoint,
      silent,
      total,
      places: places.filter((each) => each.endpoint === endpoint).map(({ place, count }) => ({ place, count })),
    }));
}

/** Bells of a day that people did not hear as planned. */
export interface TroubledBells {
  missed: number;
  late: number;
  /** Rung, but some devices were not reached. */
  unheard: number;
  /** Devices that were not reached, over all of these. */
  devices: number;
}

const DAY_MS = 86_400_000;

/** Bells of the last 24 hours that were missed, late, or not heard by some devices. Offline rings count as heard. */
export function troubledBells(reader: StoreReader, now: number): TroubledBells {
  const states = reader.all<{ state: "missed" | "late"; n: number }>(
    `SELECT state, count(*) AS n FROM bell_rings WHERE (state = 'missed' OR state = 'late') AND at > ? AND at <= ?
       AND NOT EXISTS (SELECT 1 FROM bell_offline_rings o WHERE o.ring = bell_rings.id) GROUP BY state`,
    ...[now - DAY_MS, now],
  );
  const unheard = reader.one<{ bells: number; devices: number | null }>(
    `SELECT count(DISTINCT n.pk) AS bells, sum(c.n) AS devices FROM notifications n
     JOIN notification_counters c ON c.notification = n.pk AND c.name IN ('level:failed', 'level:expired') AND c.n > 0
     WHERE n.pk IN (SELECT pk FROM notifications WHERE created_at > ?) AND n.held_until IS NOT NULL`,
    now - DAY_MS,
  );
  const numberOf = (wanted: string): number => states.find(({ state }) => state === wanted)?.n ?? 0;
  return {
    missed: numberOf("missed"),
    late: numberOf("late"),
    unheard: unheard?.bells ?? 0,
    devices: unheard?.devices ?? 0,
  };
}
