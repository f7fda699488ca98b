import type { Clock, Timer } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import type { Log } from "../lib/log.ts";
import { type Sentence, sentence } from "../lib/sentences/sentences.ts";
import { createTimeSlice } from "../lib/time-slice.ts";
import { TIME_ZONE_ALIASES } from "../resources/bells/time-zones.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { ActorContext, InternalTable, Store, StoreReader, Transaction } from "../store/store.ts";
import { formatOffsetMinutes, type OffsetTable } from "../time-zones/offset-zone.ts";
import { compileZone, type TimeZone, type ZoneLookup } from "../time-zones/time-zones.ts";
import { describeSource, type WatchedZoneData, type ZoneData } from "../time-zones/zone-data.ts";
import { type MovedRing, type MovedRings, movedRingsOf, type ZoneUser } from "./moved-rings.ts";
import type { Planner } from "./planner.ts";
import type { LocalTimeContext } from "./timetables.ts";

/** Follows the time zone data: replans what a new version moves, and reports it. */
export interface ZoneChanges {
  start(): void;
  stop(): Promise<void>;
  /** Compares the offsets of the zones in use with those of the last check; resolves when changes are replanned and reported. */
  check(): Promise<void>;
  /** Rings that moved within the last day. */
  healthReasons(): readonly { level: "yellow"; code: string; reason: Sentence }[];
}

export interface ZoneChangesDeps {
  store: Store;
  clock: Clock;
  log: Log;
  by: ActorContext;
  endpointId(): string;
  times: LocalTimeContext;
  data: WatchedZoneData;
  planner: Pick<Planner, "markDirty">;
}

/** What a change of the data did. Times in ISO 8601. */
export interface ZoneChangeReport {
  at: string;
  /** Such as `2026a (machine)`. */
  before: string;
  now: string;
  zones: { name: string; from: string; before: string; now: string }[];
  /** Within the next 365 days; of scheduled notifications within 31 days. */
  moved: { rings: number; schedules: number; first: MovedRing[] };
}

/** Offsets of a zone from `fromMs` to `toMs`, as JSON. */
const ZONE_OFFSETS: InternalTable = {
  name: "bell_zone_offsets",
  sql: `CREATE TABLE IF NOT EXISTS bell_zone_offsets (
    zone TEXT PRIMARY KEY, from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL, offsets TEXT NOT NULL) STRICT, WITHOUT ROWID`,
};

/** Changes of the data that are applied; `zones` holds the offsets before by zone, `report` is null until it is complete. */
const ZONE_CHANGES: InternalTable = {
  name: "bell_zone_changes",
  sql: `CREATE TABLE IF NOT EXISTS bell_zone_changes (
    pk INTEGER PRIMARY KEY, at INTEGER NOT NULL, source TEXT NOT NULL, before TEXT NOT NULL, zones TEXT NOT NULL,
    report TEXT) STRICT`,
};

export const ZONE_CHANGE_TABLES: readonly InternalTable[] = [ZONE_OFFSETS, ZONE_CHANGES];

/** Also finds schedules with a zone that was not in use before. */
const POLL_INTERVAL_MS = 60_000;
const YEARS_BEFORE = 1;
const YEARS_AFTER = 3;
const NOTICE_MS = DAY_MS;
const MAX_CHANGES_KEPT = 20;
const MAX_NAMED = 20;
/** Name of the row that holds the source of the stored offsets. */
const SOURCE_ROW = "";

interface KnownOffsets extends OffsetTable {
  fromMs: number;
  toMs: number;
}

/** Nothing is checked before `start` or `check`. */
export function createZoneChanges(deps: ZoneChangesDeps): ZoneChanges {
  const { store, clock, log, data } = deps;
  const abortController = new AbortController();
  const { signal } = abortController;
  let checking: Promise<void> = Promise.resolve();
  let timer: Timer | null = null;
  let unsubscribe = (): void => {};

  /** Also tries `previous`, the data before a change, for zones that came into use since the last check. */
  const checkNow = async (previous: ZoneData | null): Promise<void> => {
    const ownZone = deps.times.ownZone();
    const inUse = zonesInUse(store, ownZone);
    const known = knownOffsets(store);
    const source = describeSource(data);
    const isNew = known.get(SOURCE_ROW)?.source !== source || checkedRevision !== data.revision;
    const names = [...inUse].filter((name) => isNew || !known.has(name));
    const { revision } = data;
    const current = await offsetsOf(names, data);
    const unknown = names.filter((name) => !known.has(name));
    for (const [name, offsets] of previous ? await offsetsOf(unknown, previous) : [])
      known.set(name, { offsets, source: null });
    if (signal.aborted || (names.length === 0 && !isNew)) return;
    await store.write((tx) => applyOffsets(tx, { ownZone, known, current, source }));
    checkedRevision = revision;
    await reportPending();
  };
  let checkedRevision = Number.NaN;

  const offsetsOf = async (names: readonly string[], lookup: ZoneLookup): Promise<Map<string, KnownOffsets>> => {
    const year = new Date(clock.now()).getUTCFullYear();
    const [fromMs, toMs] = [Date.UTC(year - YEARS_BEFORE, 0, 1), Date.UTC(year + YEARS_AFTER, 0, 1)];
    const found = new Map<string, KnownOffsets>();
    const slice = createTimeSlice(clock);
    for (const name of names) {
      const zone = lookup.zone(TIME_ZONE_ALIASES[name] ?? name);
      if (zone) found.set(name, { fromMs, toMs, ...zone.transitions(fromMs, toMs) });
      if (slice.isOver()) await slice.next();
    }
    return found;
  };

  const applyOffsets = (
    tx: Transaction,
    given: {
      ownZone: string;
      known: ReadonlyMap<string, StoredOffsets>;
      current: ReadonlyMap<string, KnownOffsets>;
      source: string;
    },
  ): void => {
    const { ownZone, known, current, source } = given;
    const isNewSource = known.has(SOURCE_ROW) && known.get(SOURCE_ROW)?.source !== source;
    const changed: Record<string, KnownOffsets> = {};
    const unknown: string[] = [];
    for (const [name, now] of current) {
      const before = known.get(name)?.offsets;
      if (before && firstDifference(before, now) !== null) changed[name] = before;
      if (!before && isNewSource) unknown.push(name);
      tx.run(UPSERT_OFFSETS, name, now.fromMs, now.toMs, JSON.stringify({ starts: now.starts, offsets: now.offsets }));
    }
    const before = known.get(SOURCE_ROW)?.source ?? source;
    tx.run(UPSERT_OFFSETS, SOURCE_ROW, 0, 0, JSON.stringify(source));
    const names = Object.keys(changed);
    // A zone whose offsets before are unknown may have changed.
    if (names.length + unknown.length === 0) return;
    const users = zoneUsers(tx, ownZone);
    const owners = [...names, ...unknown].flatMap((name) => users.get(name) ?? []);
    deps.planner.markDirty(
      tx,
      owners.map(({ id }) => id),
    );
    if (names.length === 0) return;
    tx.run(
      "INSERT INTO bell_zone_changes (at, source, before, zones) VALUES (?, ?, ?, ?)",
      clock.now(),
      source,
      before,
      JSON.stringify(changed),
    );
    tx.run(DELETE_OLD_CHANGES, MAX_CHANGES_KEPT);
    tx.emit("rings.planned", {});
    log.warn(
      { event: "bell.time_zones_changed", before, now: source, zones: names },
      "time zone rules changed, replanning",
    );
  };

  /** Reports the changes whose report an earlier run or this one owes. */
  const reportPending = async (): Promise<void> => {
    for (const change of store.all<ChangeRow>(SELECT_PENDING)) {
      const report = await buildReport(change);
      if (signal.aborted) return;
      await store.write((tx) => saveReport(tx, change, report));
      const { rings, schedules, first } = report.moved;
      log.warn(
        { event: "bell.rings_moved", rings, schedules, first: first.slice(0, 3) },
        "rings moved by time zone data",
      );
    }
  };

  const buildReport = async ({ at, source, before, zones }: ChangeRow): Promise<ZoneChangeReport> => {
    const changed = new Map(Object.entries(JSON.parse(zones) as Record<string, KnownOffsets>));
    const current = await offsetsOf([...changed.keys()], data);
    const users = zoneUsers(store, deps.times.ownZone());
    const moved: MovedRings = { rings: 0, schedules: new Set(), first: [] };
    for (const [name, old] of changed) {
      const oldZone = compileKnown(old);
      for (const user of users.get(name) ?? []) {
        if (signal.aborted) break;
        await movedRingsOf(user, { name, oldZone }, moved, deps);
      }
    }
    moved.first.sort((one, other) => one.before.localeCompare(other.before));
    const offset = (table: OffsetTable, ms: number): string =>
      formatOffsetMinutes(offsetIn(table, ms) / 60_000, "short");
    return {
      at: isoOf(at),
      before,
      now: source,
      zones: [...changed].flatMap(([name, old]) => {
        const now = current.get(name);
        const from = now ? firstDifference(old, now) : null;
        return now && from !== null
          ? [{ name, from: isoOf(from), before: offset(old, from), now: offset(now, from) }]
          : [];
      }),
      moved: { rings: moved.rings, schedules: moved.schedules.size, first: moved.first.slice(0, MAX_NAMED) },
    };
  };

  const saveReport = (tx: Transaction, { pk }: ChangeRow, report: ZoneChangeReport): void => {
    tx.run("UPDATE bell_zone_changes SET report = ? WHERE pk = ?", JSON.stringify(report), pk);
    const where = { extensionId: ONPREM_EXTENSION_ID, endpointId: deps.endpointId() };
    const value = { ...report, reason: describeReport(report) };
    tx.create(endpointActivities, { ...where, type: "log-message", severity: "warn", value }, deps.by);
  };

  const check = (previous: ZoneData | null = null): Promise<void> => {
    checking = checking
      .then(() => checkNow(previous))
      .catch((error: unknown) =>
        log.error({ event: "bell.time_zone_check_failed", err: error }, "failed to check the time zone data"),
      );
    return checking;
  };

  return {
    start() {
      unsubscribe = data.onChange((before) => void check(before));
      timer = clock.every(POLL_INTERVAL_MS, () => void check());
      void check();
    },
    async stop() {
      abortController.abort();
      unsubscribe();
      timer?.cancel();
      await checking;
    },
    check: () => check(),
    healthReasons() {
      const [last] = store.all<{ report: string }>(SELECT_LAST_REPORT, clock.now() - NOTICE_MS);
      const report = last ? (JSON.parse(last.report) as ZoneChangeReport) : null;
      if (!report || report.moved.rings === 0) return [];
      return [{ level: "yellow", code: "time-zones-changed", reason: describeReport(report) }];
    },
  };
}

interface ChangeRow {
  pk: number;
  at: number;
  source: string;
  before: string;
  zones: string;
}

interface StoredOffsets {
  offsets: KnownOffsets | null;
  source: string | null;
}

const UPSERT_OFFSETS = "INSERT OR REPLACE INTO bell_zone_offsets (zone, from_ms, to_ms, offsets) VALUES (?, ?, ?, ?)";
const DELETE_OLD_CHANGES = `DELETE FROM bell_zone_changes WHERE pk <= (SELECT max(pk) FROM bell_zone_changes) - ?`;
const SELECT_PENDING = "SELECT pk, at, source, before, zones FROM bell_zone_changes WHERE report IS NULL ORDER BY pk";
const SELECT_LAST_REPORT =
  "SELECT report FROM bell_zone_changes WHERE report IS NOT NULL AND at > ? ORDER BY pk DESC LIMIT 1";
const SELECT_USERS = `SELECT 'bell' AS kind, id, time_zone AS zone FROM bell_schedules
  UNION ALL SELECT 'message', id, time_zone FROM scheduled_notifications
  UNION ALL SELECT 'clearing', id, NULL FROM clear_devices_schedules`;

const SELECT_ZONES = `SELECT DISTINCT time_zone AS zone FROM bell_schedules WHERE time_zone IS NOT NULL
  UNION SELECT DISTINCT time_zone FROM scheduled_notifications`;

function zonesInUse(reader: Pick<StoreReader, "all">, ownZone: string): Set<string> {
  return new Set([ownZone, ...reader.all<{ zone: string }>(SELECT_ZONES).map(({ zone }) => zone)]);
}

/** Reports of the last changes, newest first. */
export function zoneChangeReports(reader: Pick<StoreReader, "all">, limit: number): ZoneChangeReport[] {
  const sql = "SELECT report FROM bell_zone_changes WHERE report IS NOT NULL ORDER BY pk DESC LIMIT ?";
  return reader.all<{ report: string }>(sql, limit).map(({ report }) => JSON.parse(report) as ZoneChangeReport);
}

/** Schedules by the zone that they follow. */
function zoneUsers(reader: Pick<StoreReader, "all">, ownZone: string): Map<string, ZoneUser[]> {
  const users = new Map<string, ZoneUser[]>([[ownZone, []]]);
  for (const { zone, ...user } of reader.all<ZoneUser & { zone: string | null }>(SELECT_USERS)) {
    const name = zone ?? ownZone;
    const list = users.get(name);
    if (list) list.push(user);
    else users.set(name, [user]);
  }
  return users;
}

function knownOffsets(reader: Pick<StoreReader, "all">): Map<string, StoredOffsets> {
  const sql = "SELECT zone, from_ms AS fromMs, to_ms AS toMs, offsets FROM bell_zone_offsets";
  const rows = reader.all<{ zone: string; fromMs: number; toMs: number; offsets: string }>(sql);
  return new Map(
    rows.map(({ zone, fromMs, toMs, offsets }) => {
      const value = JSON.parse(offsets);
      const isSource = zone === SOURCE_ROW;
      return [zone, { offsets: isSource ? null : { fromMs, toMs, ...value }, source: isSource ? value : null }];
    }),
  );
}

/** The first instant at which two tables differ, where both apply; null if they agree. */
function firstDifference(one: KnownOffsets, other: KnownOffsets): number | null {
  const [from, to] = [Math.max(one.fromMs, other.fromMs), Math.min(one.toMs, other.toMs)];
  const instants = [from, ...one.starts, ...other.starts].filter((at) => at >= from && at < to).sort((a, b) => a - b);
  return instants.find((at) => offsetIn(one, at) !== offsetIn(other, at)) ?? null;
}

function offsetIn({ starts, offsets }: OffsetTable, ms: number): number {
  const index = starts.findLastIndex((start) => start <= ms);
  return offsets[Math.max(index, 0)] ?? 0;
}

function compileKnown(known: KnownOffsets): TimeZone {
  return compileZone(() => known);
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** One sentence for an administrator. */
export function describeReport({ now, zones, moved }: ZoneChangeReport): Sentence {
  const names = zones.slice(0, 3).map(({ name }) => name);
  const more = zones.length - names.length;
  const named = names.join(", ");
  const [first] = moved.first;
  const count = moved.schedules;
  const effect = [
    moved.rings === 1
      ? sentence("health.zone-ring", { count })
      : sentence("health.zone-rings", { rings: moved.rings, count }),
    ...(first
      ? [
          sentence("health.zone-first", {
            ...{ date: first.localDate, time: first.localTime, zone: first.zone },
            ...{ now: first.now ?? "–", before: first.before },
          }),
        ]
      : []),
  ];
  return sentence("health.zone-rules", {
    version: now,
    zones: more > 0 ? sentence("health.zone-names", { zones: named, more }) : named,
    effect: effect.join(", "),
  });
}
