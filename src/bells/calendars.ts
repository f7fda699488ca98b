import { newId } from "../base/ids.ts";
import feeds from "../resources/bells/bell-schedule-feeds.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import type { RowOf } from "../schema/resource.ts";
import { namedRows } from "../store/part-references.ts";
import type { By, Store, Transaction } from "../store/store.ts";
import { type BellScheduleRow, exceptionsOf, putExceptions } from "./bell-schedule-behaviour.ts";
import { calendarText } from "./calendar-text.ts";
import { placeException } from "./exceptions.ts";
import type { Holiday } from "./holidays.ts";
import { type RingNeeds, ringsTold } from "./told-rings.ts";
import { DAY_MS } from "./zones.ts";

/** What a calendar shows around now. own choice */
const PAST_MS = 14 * DAY_MS;
const AHEAD_MS = 92 * DAY_MS;
const READ_EVERY_MS = 3_600_000;

/** The rings of a schedule as an iCalendar text in pieces: those of the last 14 and the next 92 days, and its days without bells. */
export async function calendarOf(row: BellScheduleRow, needs: RingNeeds): Promise<Generator<string>> {
  const now = needs.clock.now();
  const rings = await ringsTold(row, { fromMs: now - PAST_MS, toMs: now + AHEAD_MS }, needs);
  const ids = rings.flatMap(({ messageTemplateId, ringListId }) => [messageTemplateId ?? "", ringListId ?? ""]);
  const known = [messageTemplates, ringLists].flatMap((resource) => [
    ...namedRows(needs.reader, resource, ids).values(),
  ]);
  const names = new Map(known.map(({ id, name }) => [id, name]));
  const silences = exceptionsOf(row).filter(({ ringListId }) => ringListId === null);
  return calendarText({ name: row.name, now, rings, names, silences });
}

/** The schedule that a feed with this token follows; null for a token that is not, or no longer, good for it. */
export function followedSchedule(store: Store, bellScheduleId: string, tokenHash: string): BellScheduleRow | null {
  const [feed] = store.find(feeds, { tokenHash }, 1);
  return feed?.bellScheduleId === bellScheduleId ? store.get(bellSchedules, bellScheduleId) : null;
}

/** Notes that a feed was read, at most once an hour. */
export async function noteReading(store: Store, tokenHash: string, now: number, by: By): Promise<void> {
  const [feed] = store.find(feeds, { tokenHash }, 1);
  if (!feed || now - (feed.lastReadAt ?? 0) < READ_EVERY_MS) return;
  await store.update(feeds, feed.id, {}, by, { lastReadAt: now });
}

/** Makes a feed; its token is known to nobody else. */
export function makeFeed(
  store: Store,
  input: object,
  { bellScheduleId, tokenHash }: { bellScheduleId: string; tokenHash: string },
  by: By,
): Promise<RowOf<typeof feeds>> {
  return store.create(feeds, { ...input, bellScheduleId }, by, { tokenHash });
}

/**
 * Puts holidays among the exceptions of a schedule, with a ring list or silent (null), as a bulk exception would. Throws
 * CallerError when they are too many.
 */
export function putHolidays(
  tx: Transaction,
  { id, holidays, ringListId }: { id: string; holidays: readonly Holiday[]; ringListId: string | null },
  by: By,
): BellScheduleRow {
  const row = tx.get(bellSchedules, id) as BellScheduleRow;
  const added = holidays.map((holiday) => ({ ...holiday, id: newId(), ringListId, ringListChanges: [] }));
  putExceptions(row, added.reduce(placeException, [...exceptionsOf(row)]), tx, by);
  return tx.get(bellSchedules, id) as BellScheduleRow;
}
