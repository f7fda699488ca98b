import { type Clock, nextTurn } from "../base/clock.ts";
import type { CalledPerson as Called, PlacedDevice, Room } from "../resources/broadcasts/by-room.ts";
import type { Reader, SqlValue } from "../store/store.ts";

/** Somebody asked, and the answer; times are epoch ms. */
export type CalledPerson = Called<number>;

/** Those of one room, whoever has not answered first; `room` is null for those of none. */
export interface CalledRoom {
  room: Room | null;
  /** People in it, and those of them who answered: of all, however many are given. */
  total: number;
  answered: number;
  people: readonly CalledPerson[];
}

/** What stands in one room. */
export interface DeviceRoom {
  room: Room;
  devices: PlacedDevice[];
}

/** Rows of one slice, and people put in order in one: under 5 ms of the event loop. */
const SLICE_ROWS = 200;
const ORDERED_PEOPLE = 1_000;

const ROOMS = `SELECT z.pk, z.id AS zoneId, z.name, f.id AS floorId, f.name AS floorName, b.id AS buildingId,
    b.name AS buildingName, s.id AS siteId, s.name AS siteName
  FROM zones z JOIN floors f ON f.pk = z.floor_pk JOIN buildings b ON b.pk = z.building_pk JOIN sites s ON s.pk = z.site_pk
  WHERE z.pk IN (SELECT value FROM json_each(?))`;

// By the index on the message, so that a slice costs the same wherever it begins.
const CALLED = `SELECT r.pk, r.id AS recipientId, u.id AS userId, coalesce(r.name, '') AS name,
    r.confirmation_response AS answer, r.confirmation_response_timestamp AS answeredAt, r.read, u.zone_pk AS zone
  FROM notification_recipients r INDEXED BY notification_recipients__notification_pk LEFT JOIN users u ON u.pk = r.user_pk
  WHERE r.notification_pk = ? AND r.pk > ? AND r.declined IS NOT 1 ORDER BY r.pk LIMIT ${SLICE_ROWS}`;

const STANDING = `SELECT l.pk, d.id AS deviceId, coalesce(l.name, l.device_identifier) AS name, l.level, l.reason,
    d.zone_pk AS zone, d.attributes ->> 'Location' AS location
  FROM deliveries l INDEXED BY deliveries__notification_pk JOIN devices d ON d.pk = l.device_pk
  WHERE l.notification_pk = ? AND l.pk > ? ORDER BY l.pk LIMIT ${SLICE_ROWS}`;

type Line<T> = T & { pk: number; zone: number | null };

/**
 * Who of a message's recipients gave which answer and who none, by the room where each usually is; those of no room last.
 * At most `most` people of each room are given.
 */
export async function rollCall(
  notificationPk: number,
  reader: Reader,
  clock: Clock,
  most = Number.POSITIVE_INFINITY,
): Promise<CalledRoom[]> {
  const byRoom = new Map<number | null, CalledPerson[]>();
  for (const lines of slices<CalledPerson>(reader, CALLED, notificationPk)) {
    for (const { pk: _pk, zone, ...person } of lines) {
      gather(byRoom, zone, { ...person, read: Boolean(person.read) });
    }
    await nextTurn(clock);
  }
  const rooms = roomsOf([...byRoom.keys()], reader);
  const called: CalledRoom[] = [];
  for (const [zone, people] of byRoom) {
    const answered = people.reduce((sum, { answer }) => sum + Number(answer !== null), 0);
    await nextTurn(clock);
    const first = await firstInOrder(people, most, clock);
    called.push({ room: rooms.get(zone ?? 0) ?? null, total: people.length, answered, people: first });
  }
  return called.sort((a, b) => inOrder(nameOf(a.room), nameOf(b.room)));
}

/** The first of all, put in order a slice at a time: sorted runs, merged in pairs until one is left. */
async function firstInOrder(people: readonly CalledPerson[], most: number, clock: Clock): Promise<CalledPerson[]> {
  let runs: CalledPerson[][] = [];
  for (let at = 0; at < people.length; at += ORDERED_PEOPLE) {
    runs.push(
      people
        .slice(at, at + ORDERED_PEOPLE)
        .sort(missingFirst)
        .slice(0, most),
    );
    await nextTurn(clock);
  }
  while (runs.length > 1) {
    const merged: CalledPerson[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(await mergedRuns(runs[at] ?? [], runs[at + 1] ?? [], most, clock));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function mergedRuns(
  a: readonly CalledPerson[],
  b: readonly CalledPerson[],
  most: number,
  clock: Clock,
): Promise<CalledPerson[]> {
  const merged: CalledPerson[] = [];
  for (let fromA = 0, fromB = 0; merged.length < most; ) {
    const [one, other] = [a[fromA], b[fromB]];
    const next = one && (!other || missingFirst(one, other) <= 0) ? one : other;
    if (!next) break;
    if (next === one) fromA++;
    else fromB++;
    if (merged.push(next) % ORDERED_PEOPLE === 0) await nextTurn(clock);
  }
  return merged;
}

function missingFirst(a: CalledPerson, b: CalledPerson): number {
  return Number(a.answer !== null) - Number(b.answer !== null) || inOrder(a.name, b.name);
}

/**
 * How far a message came to the devices of each room, and how many stand in none. own choice: a device stands in the room
 * that its row names, else in the only one whose name its attribute Location is.
 */
export async function devicesByRoom(
  notificationPk: number,
  reader: Reader,
  clock: Clock,
): Promise<{ rooms: DeviceRoom[]; unplaced: number }> {
  const byName = zonesByName(reader);
  const byRoom = new Map<number | null, PlacedDevice[]>();
  for (const lines of slices<PlacedDevice & { location: string | null }>(reader, STANDING, notificationPk)) {
    for (const { pk: _pk, zone, location, ...device } of lines) {
      gather(byRoom, zone ?? byName.get(location ?? "") ?? null, device);
    }
    await nextTurn(clock);
  }
  const rooms = roomsOf([...byRoom.keys()], reader);
  const unplaced = byRoom.get(null)?.length ?? 0;
  const placed = [...byRoom].flatMap(([zone, devices]) => {
    const room = rooms.get(zone ?? 0);
    return room ? [{ room, devices }] : [];
  });
  return { rooms: placed.sort((a, b) => inOrder(nameOf(a.room), nameOf(b.room))), unplaced };
}

function* slices<T>(reader: Reader, sql: string, notificationPk: number): Generator<Line<T>[]> {
  for (let after = 0; ; ) {
    const lines = reader.all<Line<T> & Record<string, SqlValue>>(sql, notificationPk, after);
    if (lines.length > 0) yield lines;
    if (lines.length < SLICE_ROWS) return;
    after = lines.at(-1)?.pk ?? 0;
  }
}

function gather<T>(byRoom: Map<number | null, T[]>, zone: number | null, one: T): void {
  const known = byRoom.get(zone);
  if (known) known.push(one);
  else byRoom.set(zone, [one]);
}

function roomsOf(zones: readonly (number | null)[], reader: Reader): Map<number, Room> {
  const lines = reader.all<Room & { pk: number } & Record<string, SqlValue>>(
    ROOMS,
    JSON.stringify(zones.filter((zone) => zone !== null)),
  );
  return new Map(lines.map(({ pk, ...room }) => [pk, room]));
}

/** Rooms whose names no other has, by name. */
function zonesByName(reader: Reader): Map<string, number> {
  const lines = reader.all<{ pk: number; name: string }>(
    "SELECT max(pk) AS pk, name FROM zones GROUP BY name HAVING count(*) = 1",
  );
  return new Map(lines.map(({ pk, name }) => [name, pk]));
}

/** Rooms in the order of where they lie; none is the last. */
function nameOf(room: Room | null): string {
  return room ? [room.siteName, room.buildingName, room.floorName, room.name].join("\u0000") : "\uffff";
}

function inOrder(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
