import { type FSWatcher, mkdirSync, watch } from "node:fs";
import { join } from "node:path";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { type Sentence, type SentenceCode, sentence } from "../lib/sentences/sentences.ts";
import { isTimeZone, TIME_ZONE_ALIASES, TIME_ZONES } from "../resources/bells/time-zones.ts";
import type { ZoneLookup } from "./time-zones.ts";
import { TzifError } from "./tzif.ts";
import {
  fileSignature,
  isSafeZoneName,
  openInstalledZones,
  openNodeZones,
  openZoneFolder,
  versionFilesOf,
  type ZoneSource,
  type ZoneSourceKind,
} from "./zone-sources.ts";

/** The time zone data in use, the newest of all sources first. */
export interface ZoneData extends ZoneLookup {
  /** Sources in the order in which a zone is looked up; the first one is in use. */
  sources(): readonly ZoneSource[];
  /** What keeps a source from being used, such as a damaged file. */
  problems(): readonly string[];
}

/** As ZoneData, and watches the sources for changes. */
export interface WatchedZoneData extends ZoneData {
  /** Called after each change of the data, with the data before. Returns the function that ends it. */
  onChange(listener: (before: ZoneData) => void): () => void;
  /** Reads the sources again if they have changed; true if the data differ. */
  poll(): boolean;
  start(): void;
  stop(): void;
}

export interface ZoneDataOptions {
  /** Folder of the machine's database. */
  folder: string;
  /** Folder that `carillon tz install` writes to; null: none. */
  installedFolder: string | null;
}

/** Where the operating systems keep their database. */
export const MACHINE_FOLDER = "/usr/share/zoneinfo";
/** Changes are noticed at once by watching the folder, and within this time where watching does not work. */
const POLL_INTERVAL_MS = 20_000;
/** A package manager replaces the files one by one: wait until none has changed for this time. */
const SETTLE_MS = 2_000;

/** Opens all sources, newest first. Of equal versions files precede Node, as they need no sampling. */
export function openZoneData({ folder, installedFolder }: ZoneDataOptions): ZoneData {
  const problems: string[] = [];
  let installed: ZoneSource | null = null;
  try {
    installed = installedFolder === null ? null : openInstalledZones(installedFolder);
  } catch (error) {
    const reason = error instanceof TzifError ? error.message : String((error as Error).message);
    problems.push(sentence("zone.installed-unusable", { reason }));
  }
  const candidates = [installed, openZoneFolder(folder), openNodeZones()].filter((source) => source !== null);
  const sources = candidates.sort((one, other) => compareVersions(other.version, one.version));
  return {
    revision: 0,
    sources: () => sources,
    zone(name) {
      for (const source of sources) {
        const zone = source.zone(name);
        if (zone) return zone;
      }
      return null;
    },
    problems: () => [
      ...problems,
      ...sources.flatMap(({ kind, damaged }) =>
        [...damaged].map(([name, reason]) => sentence(DAMAGED_CODES[kind], { name, reason })),
      ),
    ],
  };
}

/** What texts call a source. */
const DAMAGED_CODES = {
  installed: "zone.damaged-installed",
  machine: "zone.damaged-machine",
  node: "zone.damaged-node",
} as const satisfies Readonly<Record<ZoneSourceKind, SentenceCode>>;

/** An unknown version precedes all others: there is no way to tell that it is newer. */
function compareVersions(one: string | null, other: string | null): number {
  if (one === other) return 0;
  return (one ?? "") < (other ?? "") ? -1 : 1;
}

/** Opens the data and follows changes; nothing is watched before `start`. */
export function watchZoneData(options: ZoneDataOptions, { clock, log }: { clock: Clock; log: Log }): WatchedZoneData {
  let revision = 0;
  /** Signature of each file that was read, from before it was read. */
  let files = new Map<string, string>();
  const note = (path: string): void => void (files.has(path) || files.set(path, fileSignature(path)));
  const open = (): ZoneData => {
    for (const path of versionFilesOf(options.folder, options.installedFolder)) note(path);
    return openZoneData(options);
  };
  let data = open();
  let seen = "";
  let polling: Timer | null = null;
  let settling: Timer | null = null;
  let watchers: FSWatcher[] = [];
  const listeners = new Set<(before: ZoneData) => void>();

  const signatureNow = (): string => [...files.keys()].map(fileSignature).join("\n");
  const hasChanged = (): boolean => [...files].some(([path, signature]) => fileSignature(path) !== signature);

  const reopen = (): void => {
    const before = data;
    const paths = [...files.keys()];
    files = new Map();
    for (const path of paths) note(path);
    data = open();
    revision++;
    log.info(
      { event: "time_zones.loaded", before: describeSource(before), now: describeSource(data) },
      "time zone data loaded",
    );
    for (const listener of [...listeners]) listener(before);
    logProblems(data, log);
  };

  const checkLater = (): void => {
    settling ??= clock.after(SETTLE_MS, check, { background: true });
  };
  /** Two checks in a row must see the same files. */
  const check = (): void => {
    settling = null;
    if (!hasChanged()) return;
    const signature = signatureNow();
    const isSettled = signature === seen;
    seen = signature;
    if (isSettled) reopen();
    else checkLater();
  };

  return {
    get revision() {
      return revision;
    },
    zone(name) {
      if (isSafeZoneName(name)) note(join(options.folder, name));
      return data.zone(name);
    },
    sources: () => data.sources(),
    problems: () => data.problems(),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    poll() {
      if (!hasChanged()) return false;
      reopen();
      return true;
    },
    start() {
      polling ??= clock.every(POLL_INTERVAL_MS, check);
      // A folder that does not exist can't be watched.
      if (options.installedFolder !== null) mkdirSync(options.installedFolder, { recursive: true });
      watchers = [options.folder, options.installedFolder].flatMap((folder) => watchFolder(folder, checkLater));
      log.debug({ event: "time_zones.in_use", source: describeSource(data) }, "time zone data in use");
      logProblems(data, log);
    },
    stop() {
      polling?.cancel();
      settling?.cancel();
      for (const watcher of watchers) watcher.close();
      listeners.clear();
    },
  };
}

/** Data of this machine for a process that ends soon, without what an administrator installed. */
export function machineZoneData(): ZoneData {
  return openZoneData({ folder: MACHINE_FOLDER, installedFolder: null });
}

/** Such as `2026a (machine)`. */
export function describeSource(data: Pick<ZoneData, "sources">): string {
  const [source] = data.sources();
  return source ? `${source.version ?? "unknown"} (${source.kind})` : "none";
}

/**
 * The zone of a name in any case, as a query may give it, among those of schedules and those that Node knows; null for an
 * unknown one.
 */
export function canonicalZoneName(name: string): string | null {
  if (isTimeZone(name)) return TIME_ZONE_ALIASES[name] ?? name;
  const lower = String(name).toLowerCase();
  const known = TIME_ZONES.find((each) => each.toLowerCase() === lower);
  if (known !== undefined) return TIME_ZONE_ALIASES[known] ?? known;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

/** The folder below a data directory that `carillon tz install` writes to. */
export function installedZonesFolder(dataDir: string): string {
  return join(dataDir, "time-zones");
}

/** What is wrong with the time zone data, as health reasons. */
export function zoneDataReasons(data: ZoneData, now: number): { level: "yellow"; code: string; reason: Sentence }[] {
  const problems = data.problems();
  const [problem] = problems;
  const more = problems.length - 1;
  const unusable =
    problem === undefined
      ? []
      : more > 0
        ? [sentence("health.zones-unusable-many", { problem, more })]
        : [sentence("health.zones-unusable", { problem })];
  return [
    ...unusable.map((reason) => ({ level: "yellow" as const, code: "time-zones-unusable", reason })),
    ...(isOutdated(data, now)
      ? [
          {
            level: "yellow" as const,
            code: "time-zones-old",
            reason: sentence("health.zones-old", { source: describeSource(data) }),
          },
        ]
      : []),
  ];
}

/** What to do about old data. */
export const UPDATE_HINT = "Update the package tzdata of the machine, or run carillon tz install FILE.";

/** The database has several releases every year: data of the year before last lack all of a whole year. */
export function isOutdated(data: Pick<ZoneData, "sources">, now: number): boolean {
  const version = data.sources()[0]?.version ?? null;
  return version === null || Number(version.slice(0, 4)) < new Date(now).getUTCFullYear() - 1;
}

function logProblems(data: ZoneData, log: Log): void {
  for (const problem of data.problems())
    log.error({ event: "time_zones.source_unusable", problem }, "time zone data unusable, using another source");
}

/** Empty where the folder can't be watched: polling notices changes, too. */
function watchFolder(folder: string | null, onChange: () => void): FSWatcher[] {
  if (folder === null) return [];
  try {
    const watcher = watch(folder, { persistent: false }, onChange);
    watcher.on("error", () => watcher.close());
    return [watcher];
  } catch {
    return [];
  }
}
