import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import type { SentenceReader } from "../../lib/sentences/registry.ts";
import { deviceOutcome } from "../../resources/notifications/device-outcomes.ts";
import { countOutcomes, reachVerdict, sumOutcomes } from "../../resources/notifications/outcome-counts.ts";
import type {
  BuildingOutcomes,
  RollCallEntry as Called,
  PlacedDevice,
  RoomLocation,
} from "../../resources/notifications/roll-call.ts";
import type { SqlValue, StoreReader } from "../../store/store.ts";

/** A recipient with the answer; times are epoch ms. */
export type RollCallPerson = Called<number>;

/** The recipients of one room, those without an answer first; `room` is null for those without a room. */
export interface RollCallRoom {
  room: RoomLocation | null;
  /** Recipients in the room, and those who answered: totals, whatever the page holds. */
  total: number;
  answered: number;
  people: readonly RollCallPerson[];
}

/** Devices in one room. */
export interface DevicesInRoom {
  room: RoomLocation;
  devices: PlacedDevice[];
}

/** Rows per chunk, and people sorted per chunk: under 5 ms of the event loop. */
const CHUNK_ROWS = 200;
const SORT_CHUNK = 1_000;

const ROOMS = `SELECT z.pk, z.id AS zoneId, z.name, f.id AS floorId, f.name AS floorName, b.id AS buildingId,
    b.name AS buildingName, s.id AS siteId, s.name AS siteName
  FROM zones z JOIN floors f ON f.pk = z.floor_pk JOIN buildings b ON b.pk = z.building_pk JOIN sites s ON s.pk = z.site_pk
  WHERE z.pk IN (SELECT value FROM json_each(?))`;

// Uses the index on the message, so that the cost of a chunk does not depend on where it begins.
const ROLL_CALL_SQL = `SELECT r.pk, r.id AS recipientId, u.id AS userId, coalesce(r.name, '') AS name,
    r.confirmation_response AS answer, r.confirmation_response_timestamp AS answeredAt, r.read, u.zone_pk AS zone
  FROM notification_recipients r INDEXED BY notification_recipients__notification_pk LEFT JOIN users u ON u.pk = r.user_pk
  WHERE r.notification_pk = ? AND r.pk > ? AND r.declined IS NOT 1 ORDER BY r.pk LIMIT ${CHUNK_ROWS}`;

const DEVICE_STATES_SQL = `SELECT l.pk, d.id AS deviceId, coalesce(l.name, l.device_identifier) AS name, l.level, l.reason,
    coalesce(l.text_only, 0) AS textOnly,
    d.zone_pk AS zone, d.attributes ->> 'Location' AS location
  FROM deliveries l INDEXED BY deliveries__notification_pk JOIN devices d ON d.pk = l.device_pk
  WHERE l.notification_pk = ? AND l.pk > ? ORDER BY l.pk LIMIT ${CHUNK_ROWS}`;

type Line<T> = T & { pk: number; zone: number | null };

/**
 * The recipients of a message by room with their answers; those without a room last. Returns at most `most` people per
 * room.
 */
export async function rollCall(
  notificationPk: number,
  reader: StoreReader,
  clock: Clock,
  limit = Number.POSITIVE_INFINITY,
): Promise<RollCallRoom[]> {
  const byRoom = new Map<number | null, RollCallPerson[]>();
  for (const lines of readChunks<RollCallPerson>(reader, ROLL_CALL_SQL, notificationPk)) {
    for (const { pk: _pk, zone, ...person } of lines) {
      addToRoom(byRoom, zone, { ...person, read: Boolean(person.read) });
    }
    await yieldToEventLoop(clock);
  }
  const rooms = roomsOf([...byRoom.keys()], reader);
  const called: RollCallRoom[] = [];
  for (const [zone, people] of byRoom) {
    const answered = people.reduce((sum, { answer }) => sum + Number(answer !== null), 0);
    await yieldToEventLoop(clock);
    const first = await sortInChunks(people, limit, clock);
    called.push({ room: rooms.get(zone ?? 0) ?? null, total: people.length, answered, people: first });
  }
  return called.sort((a, b) => compareText(roomSortKey(a.room), roomSortKey(b.room)));
}

/** Sorts people chunk by chunk: sorted runs, merged in pairs until one is left. */
async function sortInChunks(people: readonly RollCallPerson[], limit: number, clock: Clock): Promise<RollCallPerson[]> {
  let runs: RollCallPerson[][] = [];
  for (let at = 0; at < people.length; at += SORT_CHUNK) {
    runs.push(
      people
        .slice(at, at + SORT_CHUNK)
        .sort(compareUnansweredFirst)
        .slice(0, limit),
    );
    await yieldToEventLoop(clock);
  }
  while (runs.length > 1) {
    const merged: RollCallPerson[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(await mergeRuns(runs[at] ?? [], runs[at + 1] ?? [], limit, clock));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function mergeRuns(
  a: readonly RollCallPerson[],
  b: readonly RollCallPerson[],
  limit: number,
  clock: Clock,
): Promise<RollCallPerson[]> {
  const merged: RollCallPerson[] = [];
  for (let fromA = 0, fromB = 0; merged.length < limit; ) {
    const [one, other] = [a[fromA], b[fromB]];
    const next = one && (!other || compareUnansweredFirst(one, other) <= 0) ? one : other;
    if (!next) break;
    if (next === one) fromA++;
    else fromB++;
    if (merged.push(next) % SORT_CHUNK === 0) await yieldToEventLoop(clock);
  }
  return merged;
}

function compareUnansweredFirst(a: RollCallPerson, b: RollCallPerson): number {
  return Number(a.answer !== null) - Number(b.answer !== null) || compareText(a.name, b.name);
}

/** Devices of a message by place. */
export interface DevicesByPlace {
  buildings: BuildingOutcomes[];
  rooms: DevicesInRoom[];
  /** Number of devices without a room. */
  unplaced: number;
}

/**
 * Delivery states of devices by room, their sums by building, and the number without a room. A device's room is the one in its row, else the
 * only room whose name equals its attribute Location.
 */
export async function devicesByRoom(
  notificationPk: number,
  { reader, clock, sentences }: { reader: StoreReader; clock: Clock; sentences: SentenceReader },
): Promise<DevicesByPlace> {
  const byName = zonesByName(reader);
  const byRoom = new Map<number | null, PlacedDevice[]>();
  for (const lines of readChunks<Omit<PlacedDevice, "outcome" | "reasonSentence"> & { location: string | null }>(
    reader,
    DEVICE_STATES_SQL,
    notificationPk,
  )) {
    for (const { pk: _pk, zone, location, ...device } of lines) {
      const textOnly = Boolean(device.textOnly);
      const outcome = deviceOutcome({ level: device.level, textOnly });
      const reasonSentence = device.reason === null ? null : sentences.read(device.reason);
      addToRoom(byRoom, zone ?? byName.get(location ?? "") ?? null, { ...device, textOnly, outcome, reasonSentence });
    }
    await yieldToEventLoop(clock);
  }
  const rooms = roomsOf([...byRoom.keys()], reader);
  const unplaced = byRoom.get(null)?.length ?? 0;
  const placed = [...byRoom].flatMap(([zone, devices]) => {
    const room = rooms.get(zone ?? 0);
    return room ? [{ room, devices }] : [];
  });
  placed.sort((a, b) => compareText(roomSortKey(a.room), roomSortKey(b.room)));
  return { buildings: buildingsOf(placed), rooms: placed, unplaced };
}

/** Sums of the rooms by building, in their order. */
function buildingsOf(rooms: readonly DevicesInRoom[]): BuildingOutcomes[] {
  const found = new Map<string, BuildingOutcomes>();
  for (const { room, devices } of rooms) {
    const { buildingId, buildingName, siteId, siteName } = room;
    const before = found.get(buildingId);
    const outcomes = sumOutcomes([...(before ? [before.outcomes] : []), countOutcomes(devices)]);
    const verdict = reachVerdict(outcomes);
    found.set(buildingId, { buildingId, buildingName, siteId, siteName, outcomes, verdict });
  }
  return [...found.values()];
}

function* readChunks<T>(reader: StoreReader, sql: string, notificationPk: number): Generator<Line<T>[]> {
  for (let after = 0; ; ) {
    const lines = reader.all<Line<T> & Record<string, SqlValue>>(sql, notificationPk, after);
    if (lines.length > 0) yield lines;
    if (lines.length < CHUNK_ROWS) return;
    after = lines.at(-1)?.pk ?? 0;
  }
}

function addToRoom<T>(byRoom: Map<number | null, T[]>, zone: number | null, one: T): void {
  const known = byRoom.get(zone);
  if (known) known.push(one);
  else byRoom.set(zone, [one]);
}

function roomsOf(zones: readonly (number | null)[], reader: StoreReader): Map<number, RoomLocation> {
  const lines = reader.all<RoomLocation & { pk: number } & Record<string, SqlValue>>(
    ROOMS,
    JSON.stringify(zones.filter((zone) => zone !== null)),
  );
  return new Map(lines.map(({ pk, ...room }) => [pk, room]));
}

/** Rooms with unique names, by name. */
function zonesByName(reader: StoreReader): Map<string, number> {
  const lines = reader.all<{ pk: number; name: string }>(
    "SELECT max(pk) AS pk, name FROM zones GROUP BY name HAVING count(*) = 1",
  );
  return new Map(lines.map(({ pk, name }) => [name, pk]));
}

/** Sorts rooms by location; no room is last. */
function roomSortKey(room: RoomLocation | null): string {
  return room ? [room.siteName, room.buildingName, room.floorName, room.name].join("\u0000") : "\uffff";
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
