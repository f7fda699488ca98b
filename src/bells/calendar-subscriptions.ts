import type { Clock, Timer } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import { CallerError, ConflictError, forbidden, notFound } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import { createSemaphore } from "../lib/semaphore.ts";
import { type SentenceCode, sentence } from "../lib/sentences/sentences.ts";
import { createSerialQueue } from "../lib/serial-queue.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import type { HealthSource } from "../ops/health/health.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import calendarSubscriptions from "../resources/bells/calendar-subscriptions.ts";
import type { SystemValues } from "../schema/resource.ts";
import type { ActorContext, InternalTable, Store, StoreReader, Sync, Transaction } from "../store/store.ts";
import { saveExceptions, scheduleExceptionsOf } from "./bell-schedule-hooks.ts";
import {
  type CalendarSubscription,
  createCalendarComparer,
  NO_CHANGE,
  type ScheduleChange,
  type ShownChanges,
} from "./calendar-comparison.ts";
import { type CalendarDayChange, withoutCalendar } from "./calendar-days.ts";
import { type FetchedCalendar, fetchCalendar } from "./calendar-fetch.ts";
import type { CalendarReader } from "./calendar-reader.ts";
import type { LocalTimeContext } from "./timetables.ts";

/** Fetches subscribed calendars and carries their days into bell schedules. */
export interface CalendarSubscriptions {
  start(): void;
  stop(): Promise<void>;
  /** Fetches one now and applies its changes. Throws not-found. */
  refresh(id: string): Promise<CalendarSubscription>;
  /** Applies what waits, if it is still what `pendingId` names. Throws not-found, ConflictError. */
  confirm(id: string, pendingId: string | null, by: ActorContext): Promise<CalendarSubscription>;
  /** Calendars that cannot be read, and changes that wait. */
  readonly healthReasons: HealthSource;
}

export interface CalendarSubscriptionsDeps {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  by: ActorContext;
  times: LocalTimeContext;
  reader: Pick<CalendarReader, "read">;
  ssrfGuard: SsrfGuard;
}

/** The days of a calendar that apply to a schedule: `[[day, description], …]`. */
const ACCEPTED_DAYS: InternalTable = {
  name: "calendar_subscription_days",
  sql: `CREATE TABLE IF NOT EXISTS calendar_subscription_days (
    subscription TEXT NOT NULL, schedule TEXT NOT NULL, days TEXT NOT NULL,
    PRIMARY KEY (subscription, schedule)) STRICT, WITHOUT ROWID`,
};

/** The last version of a calendar that could be read. */
const VERSIONS: InternalTable = {
  name: "calendar_subscription_versions",
  sql: `CREATE TABLE IF NOT EXISTS calendar_subscription_versions (
    subscription TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT`,
};

export const CALENDAR_SUBSCRIPTION_TABLES: readonly InternalTable[] = [ACCEPTED_DAYS, VERSIONS];

/** @source docs/decisions/0542-calendar-subscriptions.md */
const POLL_INTERVAL_MS = 60_000;
const MAX_CONCURRENT_FETCHES = 4;
const UNREACHABLE_NOTICE_MS = DAY_MS;
const MAX_REJECTED = 20;

/** Nothing is fetched before `start` or `refresh`. */
export function createCalendarSubscriptions(deps: CalendarSubscriptionsDeps): CalendarSubscriptions {
  const { store, clock, events, log } = deps;
  const comparer = createCalendarComparer(deps);
  const stopping = new AbortController();
  const { signal } = stopping;
  const fetchSlot = createSemaphore(MAX_CONCURRENT_FETCHES);
  // Changes are applied one after another: two would compare with the same state.
  const queue = createSerialQueue();
  const refreshing = new Map<string, Promise<CalendarSubscription>>();
  let timer: Timer | null = null;
  let unsubscribe = (): void => {};

  const requireRow = (id: string): CalendarSubscription => {
    const row = store.get(calendarSubscriptions, id);
    if (!row) throw notFound();
    return row;
  };

  const save = (id: string, values: SystemValues<typeof calendarSubscriptions>): Promise<CalendarSubscription> =>
    store.write((tx) => {
      const isChanged = tx.get(calendarSubscriptions, id) !== null;
      if (!isChanged) throw notFound();
      return tx.update(calendarSubscriptions, id, {}, deps.by, values) as Sync<CalendarSubscription>;
    });

  const refreshNow = async (id: string): Promise<CalendarSubscription> => {
    const row = requireRow(id);
    const url = store.secrets.open(row.url);
    const version = store.one<{ text: string }>(SELECT_VERSION, id);
    const known = version ? row : { etag: null, lastModified: null };
    const fetched = await fetchSlot(() => fetchCalendar(url, known, { ...deps, signal }));
    signal.throwIfAborted();
    return queue.run(() => takeFetched(id, { fetched, url }));
  };

  const takeFetched = async (
    id: string,
    { fetched, url }: { fetched: FetchedCalendar; url: string },
  ): Promise<CalendarSubscription> => {
    const row = requireRow(id);
    // Another address was entered meanwhile; its own refresh follows.
    if (store.secrets.open(row.url) !== url) return row;
    const now = clock.now();
    const attempt = { fetchedAt: now, host: new URL(url).host };
    if (fetched.kind === "failed" || fetched.kind === "unreachable") {
      const { kind, reason } = fetched;
      return reportFailure(row, { kind, reason }, attempt);
    }
    const text =
      fetched.kind === "calendar" ? fetched.text : (store.one<{ text: string }>(SELECT_VERSION, id)?.text ?? "");
    const validators = fetched.kind === "calendar" ? { etag: fetched.etag, lastModified: fetched.lastModified } : {};
    try {
      return await applyVersion(row, text, { ...attempt, ...validators, readAt: now, failingSince: null });
    } catch (error) {
      if (!(error instanceof CallerError)) throw error;
      return reportFailure(row, { kind: "failed", reason: reasonOf(error) }, attempt);
    }
  };

  const reportFailure = (
    row: CalendarSubscription,
    { kind, reason }: { kind: "failed" | "unreachable"; reason: string },
    attempt: SystemValues<typeof calendarSubscriptions>,
  ): Promise<CalendarSubscription> => {
    if (row.state !== kind || row.reason !== reason)
      log.warn({ event: "calendar.fetch_failed", calendarSubscriptionId: row.id, reason }, "failed to read a calendar");
    const failingSince = row.failingSince ?? clock.now();
    return save(row.id, { ...attempt, state: kind, reason: reason.slice(0, 1_000), failingSince });
  };

  /** Compares a version with the days that apply, and applies what need not wait. Throws CallerError for an unreadable one. */
  const applyVersion = async (
    row: CalendarSubscription,
    text: string,
    values: SystemValues<typeof calendarSubscriptions>,
    confirmed: { pendingId: string | null; by: ActorContext } | null = null,
  ): Promise<CalendarSubscription> => {
    const { changes, rejected } = await comparer.compare(row, text);
    const shrunk = shrinkOf(changes);
    const isHeld = shrunk.percent > row.shrinkThreshold;
    const waiting = changes.map((each) => (isHeld ? each : { ...each, change: nearPart(each) }));
    const pending = await comparer.describe(waiting, row);
    if (confirmed && confirmed.pendingId !== null && confirmed.pendingId !== pending?.id)
      throw new ConflictError(
        sentence("error.the-calendar-has-changed-since-check-the-changes-that-wait-now-then-confirm-them"),
      );
    const pendingSince = pending === null ? null : pending.id === row.pendingId ? row.pendingSince : clock.now();
    const waitedMs = clock.now() - (pendingSince ?? clock.now());
    const isOverdue = !isHeld && row.autoConfirmMinutes !== null && waitedMs >= row.autoConfirmMinutes * 60_000;
    const takesAll = pending === null || confirmed !== null || isOverdue;
    const applied = takesAll
      ? changes
      : changes.map((each) => ({ ...each, change: isHeld ? NO_CHANGE : farPart(each) }));
    const applies = applied.filter(({ change }) => isChange(change));
    const lastChanges = applies.length === 0 ? null : await comparer.describe(applies, row);
    const by = confirmed?.by ?? deps.by;
    for (const each of applied) await store.write((tx) => applyToSchedule(tx, row, each, by));
    await releaseSchedules(row, by);
    const days = comparer.countAccepted(row.id, changes);
    if (lastChanges) {
      const { silenced, moved } = lastChanges.shown.rings;
      const schedules = lastChanges.shown.schedules.length;
      const change = { calendarSubscriptionId: row.id, schedules, silenced, moved };
      log.info({ event: "calendar.changed", ...change }, "a calendar changed bell schedules");
    }
    const waits = takesAll ? null : pending;
    if (waits && waits.id !== row.pendingId)
      log.warn(
        { event: "calendar.waiting", calendarSubscriptionId: row.id, pendingId: waits.id },
        "changes of a calendar wait for confirmation",
      );
    await store.write((tx) => {
      if (tx.get(calendarSubscriptions, row.id)) tx.run(UPSERT_VERSION, row.id, text);
    });
    return save(row.id, {
      ...values,
      ...{ state: waits ? (isHeld ? "held" : "waiting") : "current", days },
      reason: waits ? describeWaiting(waits.shown, isHeld ? shrunk : null, row) : null,
      ...{
        pendingId: waits?.id ?? null,
        pendingSince: waits ? pendingSince : null,
        pendingChanges: waits?.shown ?? null,
      },
      ...(lastChanges ? { changedAt: clock.now(), lastChanges: lastChanges.shown } : {}),
      rejected: rejected.slice(0, MAX_REJECTED),
    });
  };

  const applyToSchedule = (
    tx: Transaction,
    subscription: CalendarSubscription,
    { row: { id }, change, accepted }: ScheduleChange,
    by: ActorContext,
  ): void => {
    const row = tx.get(bellSchedules, id);
    if (!row || !tx.get(calendarSubscriptions, subscription.id)) return;
    const exceptions = comparer.editedExceptions(row, change, subscription);
    if (JSON.stringify(exceptions) !== JSON.stringify(scheduleExceptionsOf(row)))
      saveExceptions(row, exceptions, tx, by);
    const next = new Map([...accepted, ...change.kept, ...change.added].filter(([day]) => !change.removed.has(day)));
    tx.run(UPSERT_DAYS, subscription.id, id, JSON.stringify([...next]));
  };

  /** Takes its days out of schedules that no longer follow it. */
  const releaseSchedules = async ({ id, bellScheduleIds }: CalendarSubscription, by: ActorContext): Promise<void> => {
    const bound = store.all<{ schedule: string }>(
      "SELECT schedule FROM calendar_subscription_days WHERE subscription = ?",
      id,
    );
    for (const { schedule } of bound) {
      if (!bellScheduleIds.includes(schedule)) await store.write((tx) => releaseSchedule(tx, id, schedule, by));
    }
  };

  const refresh = (id: string): Promise<CalendarSubscription> => {
    const running = refreshing.get(id);
    if (running !== undefined) return running;
    const started = refreshNow(id).finally(() => refreshing.delete(id));
    refreshing.set(id, started);
    return started;
  };

  const refreshInBackground = (id: string): void => {
    refresh(id).catch((error: unknown) => {
      if (signal.aborted || !store.get(calendarSubscriptions, id)) return;
      log.error(
        { event: "calendar.refresh_failed", err: error, calendarSubscriptionId: id },
        "failed to refresh a calendar",
      );
    });
  };

  const poll = (): void => {
    const due = store.all<{ id: string }>(SELECT_DUE, clock.now());
    for (const { id } of due) refreshInBackground(id);
  };

  return {
    start() {
      unsubscribe = events.on("calendar.edited", ({ calendarSubscriptionId: id }) => {
        // A refresh in progress began with the row before.
        const running = refreshing.get(id);
        void (running ?? Promise.resolve())
          .catch(() => undefined)
          .then(() => {
            if (!signal.aborted && store.get(calendarSubscriptions, id)?.disabled === false) refreshInBackground(id);
          });
      });
      timer = clock.every(POLL_INTERVAL_MS, poll);
      poll();
    },
    async stop() {
      stopping.abort();
      unsubscribe();
      timer?.cancel();
      await Promise.allSettled([...refreshing.values()]);
      await queue.idle();
    },
    refresh,
    confirm: (id, pendingId, by) =>
      queue.run(() => {
        const row = requireRow(id);
        assertSchedulesEditable(row.bellScheduleIds, store, by);
        const version = store.one<{ text: string }>(SELECT_VERSION, id);
        if (!version || row.pendingId === null)
          throw new ConflictError(sentence("error.no-changes-of-this-calendar-wait-for-confirmation"));
        return applyVersion(row, version.text, {}, { pendingId, by });
      }),
    healthReasons() {
      const rows = store.all<{ id: string; name: string; state: string; reason: string; since: number | null }>(
        SELECT_NOTICES,
      );
      return rows.flatMap(({ id, name, state, reason, since }) => {
        if (state === "unreachable" && clock.now() - (since ?? 0) < UNREACHABLE_NOTICE_MS) return [];
        const code = NOTICES[state];
        if (!code) return [];
        return [{ level: "yellow" as const, code: `calendar:${id}`, reason: sentence(code, { name, reason }) }];
      });
    },
  };
}

/** Throws forbidden if somebody may not change one of the schedules that a calendar changes. */
export function assertSchedulesEditable(ids: readonly string[], reader: StoreReader, { scope }: ActorContext): void {
  for (const id of ids) {
    const isEditable = reader.get(bellSchedules, id, scope.changeable) !== null;
    // A schedule that was deleted is ignored.
    if (reader.get(bellSchedules, id) && !(isEditable && scope.allows("put", `/bell-schedules/${id}`)))
      throw forbidden();
  }
}

/** Takes the days of a calendar out of a schedule. */
export function releaseSchedule(tx: Transaction, subscription: string, schedule: string, by: ActorContext): void {
  const row = tx.get(bellSchedules, schedule);
  if (row) {
    const exceptions = withoutCalendar(scheduleExceptionsOf(row), subscription);
    if (exceptions.length < scheduleExceptionsOf(row).length) saveExceptions(row, exceptions, tx, by);
  }
  tx.run("DELETE FROM calendar_subscription_days WHERE subscription = ? AND schedule = ?", subscription, schedule);
}

const SELECT_VERSION = "SELECT text FROM calendar_subscription_versions WHERE subscription = ?";
const UPSERT_VERSION = "INSERT OR REPLACE INTO calendar_subscription_versions (subscription, text) VALUES (?, ?)";
const UPSERT_DAYS = "INSERT OR REPLACE INTO calendar_subscription_days (subscription, schedule, days) VALUES (?, ?, ?)";
/** A row whose attempt lies in the future was fetched before the clock was set back. */
const SELECT_DUE = `SELECT id FROM calendar_subscriptions WHERE disabled IS NOT 1
  AND (fetched_at IS NULL OR abs(? - fetched_at) >= refresh_minutes * 60000) ORDER BY fetched_at`;
const SELECT_NOTICES = `SELECT id, name, state, reason, failing_since AS since FROM calendar_subscriptions
  WHERE disabled IS NOT 1 AND state IN ('waiting', 'held', 'failed', 'unreachable') ORDER BY pk`;

const NOTICES: Readonly<Record<string, SentenceCode>> = {
  waiting: "health.calendar-waits",
  held: "health.calendar-waits",
  failed: "health.calendar-failed",
  unreachable: "health.calendar-unreachable",
};

function isChange({ added, removed }: CalendarDayChange): boolean {
  return added.size + removed.size > 0;
}

/** Added days near enough to wait. */
function nearPart({ change, near }: ScheduleChange): CalendarDayChange {
  return { ...NO_CHANGE, added: new Map([...change.added].filter(([day]) => near.has(day))) };
}

function farPart({ change, near }: ScheduleChange): CalendarDayChange {
  return { ...change, added: new Map([...change.added].filter(([day]) => !near.has(day))) };
}

/** How many of the days that apply a new version drops. */
function shrinkOf(changes: readonly ScheduleChange[]): { percent: number; removed: number; days: number } {
  const removed = changes.reduce((sum, { change }) => sum + change.removed.size, 0);
  const days = changes.reduce((sum, { accepted }) => sum + accepted.size, 0);
  return { removed, days, percent: days === 0 ? 0 : (100 * removed) / days };
}

function describeWaiting(
  { schedules, rings }: ShownChanges,
  shrunk: { percent: number; removed: number; days: number } | null,
  { shrinkThreshold }: CalendarSubscription,
): string {
  const [schedule] = schedules;
  const [span] = schedule?.added ?? [];
  const count = rings.silenced;
  if (shrunk)
    return sentence("calendar.shrunk", { removed: shrunk.removed, days: shrunk.days, percent: shrinkThreshold });
  if (!span) return sentence("calendar.silences", { count });
  const first = `${span.startDate}${span.description === null ? "" : ` (${span.description})`}`;
  return sentence("calendar.silences-first", { count, first }).slice(0, 1_000);
}

function reasonOf(error: CallerError): string {
  const [first] = error.faults;
  return (first?.message ?? error.message).replace(/^Field calendar is not valid\. /, "");
}
