import { DAY_MS } from "../lib/durations.ts";
import { newId } from "../lib/ids.ts";
import feeds from "../resources/bells/bell-schedule-feeds.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import type { RowOf } from "../schema/resource.ts";
import { readNamedRows } from "../store/element-references.ts";
import type { ActorContext, Store, Transaction } from "../store/store.ts";
import { type BellScheduleRow, saveExceptions, scheduleExceptionsOf } from "./bell-schedule-hooks.ts";
import type { Holiday } from "./holidays.ts";
import { writeICalendar } from "./icalendar-writer.ts";
import { type ListRingsDeps, listRings } from "./ring-dto.ts";
import { insertException } from "./schedule-exceptions.ts";

/** @source docs/decisions/0200-bell-engine-limits.md, Calendars */
const PAST_WINDOW_MS = 14 * DAY_MS;
const LOOKAHEAD_MS = 92 * DAY_MS;
const READ_LOG_INTERVAL_MS = 3_600_000;

/** The rings of a schedule as iCalendar text in chunks: the last 14 and the next 92 days, and its days without bells. */
export async function renderScheduleCalendar(row: BellScheduleRow, deps: ListRingsDeps): Promise<Generator<string>> {
  const now = deps.clock.now();
  const rings = await listRings(row, { fromMs: now - PAST_WINDOW_MS, toMs: now + LOOKAHEAD_MS }, deps);
  const ids = rings.flatMap(({ messageTemplateId, ringListId }) => [messageTemplateId ?? "", ringListId ?? ""]);
  const known = [messageTemplates, ringLists].flatMap((resource) => [
    ...readNamedRows(deps.reader, resource, ids).values(),
  ]);
  const names = new Map(known.map(({ id, name }) => [id, name]));
  const silentDays = scheduleExceptionsOf(row).filter(({ ringListId }) => ringListId === null);
  return writeICalendar({ name: row.name, now, rings, names, silentDays });
}

/** The schedule of a feed token; null if the token is invalid or revoked. */
export function scheduleForFeedToken(store: Store, bellScheduleId: string, tokenHash: string): BellScheduleRow | null {
  const [feed] = store.find(feeds, { tokenHash }, 1);
  return feed?.bellScheduleId === bellScheduleId ? store.get(bellSchedules, bellScheduleId) : null;
}

/** Records the access time of a feed, at most once an hour. */
export async function recordFeedRead(store: Store, tokenHash: string, now: number, by: ActorContext): Promise<void> {
  const [feed] = store.find(feeds, { tokenHash }, 1);
  if (!feed || now - (feed.lastReadAt ?? 0) < READ_LOG_INTERVAL_MS) return;
  await store.update(feeds, feed.id, {}, by, { lastReadAt: now });
}

/** Creates a feed; only the hash of its token is stored. */
export function createFeed(
  store: Store,
  input: object,
  { bellScheduleId, tokenHash }: { bellScheduleId: string; tokenHash: string },
  by: ActorContext,
): Promise<RowOf<typeof feeds>> {
  return store.create(feeds, { ...input, bellScheduleId }, by, { tokenHash });
}

/**
 * Adds holidays to the exceptions of a schedule, with a ring list or silent (null), as a bulk exception does. Throws
 * CallerError if there are too many.
 */
export function addHolidays(
  tx: Transaction,
  { id, holidays, ringListId }: { id: string; holidays: readonly Holiday[]; ringListId: string | null },
  by: ActorContext,
): BellScheduleRow {
  const row = tx.get(bellSchedules, id) as BellScheduleRow;
  const added = holidays.map((holiday) => ({ ...holiday, id: newId(), ringListId, ringListChanges: [] }));
  saveExceptions(row, added.reduce(insertException, [...scheduleExceptionsOf(row)]), tx, by);
  return tx.get(bellSchedules, id) as BellScheduleRow;
}
