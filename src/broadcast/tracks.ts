import { type Clock, nextTurn } from "../base/clock.ts";
import type { Reader } from "../store/store.ts";
import { MOST_POSITIONS, type TrackedPosition, trackingEnd } from "./tracking.ts";

/** Somebody whose devices are or were followed since an answer; times are epoch ms. */
export interface Track {
  userId: string;
  name: string;
  startedAt: number;
  /** Null while it goes on. */
  endedAt: number | null;
  /** Positions that are kept. */
  count: number;
  /** Null before the first report. */
  last: TrackedPosition | null;
}

/** People told of at once. own choice */
const MOST_PEOPLE = 1_000;
/** Rows of one slice, and people whose positions are counted in one: under 5 ms of the event loop. */
const SLICE_ROWS = 500;
const COUNTED_PEOPLE = 20;

const FOLLOWED = `SELECT u.pk, u.id AS userId, u.name, t.started_at AS startedAt, t.ended_at AS endedAt
  FROM broadcast_tracked t CROSS JOIN users u ON u.pk = t.user
  WHERE t.notification = ? AND t.user > ? ORDER BY t.user LIMIT ${SLICE_ROWS}`;

const POSITION = "p.device AS deviceId, p.at, p.longitude, p.latitude, p.accuracy_m AS accuracyM";

const COUNTED = `SELECT c.user, c.count, ${POSITION} FROM (
    SELECT user, count(*) AS count, max(pk) AS newest FROM broadcast_tracks
    WHERE notification = ? AND user IN (SELECT value FROM json_each(?)) GROUP BY user
  ) c JOIN broadcast_tracks p ON p.pk = c.newest`;

type Person = Omit<Track, "count" | "last"> & { pk: number };

/** Who is or was followed for a message, by name; at most 1,000 people. */
export async function tracksOf(notificationPk: number, reader: Reader, clock: Pick<Clock, "soon">): Promise<Track[]> {
  const people = await firstByName(notificationPk, reader, clock);
  const allEndedAt = trackingEnd(reader, notificationPk);
  const tracks: Track[] = [];
  for (let at = 0; at < people.length; at += COUNTED_PEOPLE) {
    const some = people.slice(at, at + COUNTED_PEOPLE);
    const counted = positionsByUser(notificationPk, some, reader);
    for (const { pk, ...person } of some) {
      const { count, last } = counted.get(pk) ?? { count: 0, last: null };
      tracks.push({ ...person, endedAt: person.endedAt ?? allEndedAt, count, last });
    }
    await nextTurn(clock);
  }
  return tracks;
}

async function firstByName(notificationPk: number, reader: Reader, clock: Pick<Clock, "soon">): Promise<Person[]> {
  let first: Person[] = [];
  const cut = (): Person[] => first.sort(byName).slice(0, MOST_PEOPLE);
  for (let after = 0; ; ) {
    const some = reader.all<Person & Record<string, string | number | null>>(FOLLOWED, notificationPk, after);
    first.push(...some);
    if (some.length < SLICE_ROWS) return cut();
    if (first.length >= 2 * MOST_PEOPLE) first = cut();
    after = some.at(-1)?.pk ?? 0;
    await nextTurn(clock);
  }
}

function byName(a: Person, b: Person): number {
  if (a.name === b.name) return a.pk - b.pk;
  return a.name < b.name ? -1 : 1;
}

function positionsByUser(
  notificationPk: number,
  people: readonly Person[],
  reader: Reader,
): Map<number, Pick<Track, "count" | "last">> {
  const lines = reader.all<TrackedPosition & { user: number; count: number } & Record<string, string | number>>(
    COUNTED,
    notificationPk,
    JSON.stringify(people.map(({ pk }) => pk)),
  );
  return new Map(lines.map(({ user, count, ...last }) => [user, { count, last }]));
}

/** The newest positions of one person, newest first. */
export function positionsOf(reader: Reader, notificationPk: number, userPk: number): TrackedPosition[] {
  return reader.all<TrackedPosition & Record<string, string | number>>(
    `SELECT ${POSITION} FROM broadcast_tracks p WHERE p.notification = ? AND p.user = ? ORDER BY p.pk DESC LIMIT ?`,
    notificationPk,
    userPk,
    MOST_POSITIONS,
  );
}
