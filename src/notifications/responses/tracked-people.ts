import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import type { StoreReader } from "../../store/store.ts";
import { MAX_POSITIONS, type TrackedPosition, trackingEndedAt } from "./tracking.ts";

/** A person whose devices are or were tracked after an answer; times are epoch ms. */
export interface TrackedPerson {
  userId: string;
  name: string;
  startedAt: number;
  /** Null while tracking continues. */
  endedAt: number | null;
  /** Number of stored positions. */
  count: number;
  /** Null before the first report. */
  last: TrackedPosition | null;
}

/** Maximum number of people returned. */
const MAX_PEOPLE = 1_000;
/** Rows per chunk, and people whose positions are counted per chunk: under 5 ms of the event loop. */
const CHUNK_ROWS = 500;
const COUNT_CHUNK = 20;

const TRACKED_PEOPLE_SQL = `SELECT u.pk, u.id AS userId, u.name, t.started_at AS startedAt, t.ended_at AS endedAt
  FROM notification_tracked_users t CROSS JOIN users u ON u.pk = t.user
  WHERE t.notification = ? AND t.user > ? ORDER BY t.user LIMIT ${CHUNK_ROWS}`;

const POSITION = "p.device AS deviceId, p.at, p.longitude, p.latitude, p.accuracy_m AS accuracyM";

const COUNTED = `SELECT c.user, c.count, ${POSITION} FROM (
    SELECT user, count(*) AS count, max(pk) AS newest FROM notification_tracked_positions
    WHERE notification = ? AND user IN (SELECT value FROM json_each(?)) GROUP BY user
  ) c JOIN notification_tracked_positions p ON p.pk = c.newest`;

type TrackedPersonRow = Omit<TrackedPerson, "count" | "last"> & { pk: number };

/** The people who are or were tracked for a message, by name; at most 1,000 people. */
export async function findTrackedPeople(
  notificationPk: number,
  reader: StoreReader,
  clock: Pick<Clock, "defer">,
): Promise<TrackedPerson[]> {
  const people = await firstByName(notificationPk, reader, clock);
  const allEndedAt = trackingEndedAt(reader, notificationPk);
  const tracks: TrackedPerson[] = [];
  for (let at = 0; at < people.length; at += COUNT_CHUNK) {
    const some = people.slice(at, at + COUNT_CHUNK);
    const counted = positionsByUser(notificationPk, some, reader);
    for (const { pk, ...person } of some) {
      const { count, last } = counted.get(pk) ?? { count: 0, last: null };
      tracks.push({ ...person, endedAt: person.endedAt ?? allEndedAt, count, last });
    }
    await yieldToEventLoop(clock);
  }
  return tracks;
}

async function firstByName(
  notificationPk: number,
  reader: StoreReader,
  clock: Pick<Clock, "defer">,
): Promise<TrackedPersonRow[]> {
  let first: TrackedPersonRow[] = [];
  const cut = (): TrackedPersonRow[] => first.sort(byName).slice(0, MAX_PEOPLE);
  for (let after = 0; ; ) {
    const some = reader.all<TrackedPersonRow & Record<string, string | number | null>>(
      TRACKED_PEOPLE_SQL,
      notificationPk,
      after,
    );
    first.push(...some);
    if (some.length < CHUNK_ROWS) return cut();
    if (first.length >= 2 * MAX_PEOPLE) first = cut();
    after = some.at(-1)?.pk ?? 0;
    await yieldToEventLoop(clock);
  }
}

function byName(a: TrackedPersonRow, b: TrackedPersonRow): number {
  if (a.name === b.name) return a.pk - b.pk;
  return a.name < b.name ? -1 : 1;
}

function positionsByUser(
  notificationPk: number,
  people: readonly TrackedPersonRow[],
  reader: StoreReader,
): Map<number, Pick<TrackedPerson, "count" | "last">> {
  const lines = reader.all<TrackedPosition & { user: number; count: number } & Record<string, string | number>>(
    COUNTED,
    notificationPk,
    JSON.stringify(people.map(({ pk }) => pk)),
  );
  return new Map(lines.map(({ user, count, ...last }) => [user, { count, last }]));
}

/** The newest positions of one person, newest first. */
export function findPositions(reader: StoreReader, notificationPk: number, userPk: number): TrackedPosition[] {
  return reader.all<TrackedPosition & Record<string, string | number>>(
    `SELECT ${POSITION} FROM notification_tracked_positions p WHERE p.notification = ? AND p.user = ? ORDER BY p.pk DESC LIMIT ?`,
    notificationPk,
    userPk,
    MAX_POSITIONS,
  );
}
