import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { sentence } from "../lib/sentences/sentences.ts";
import { NodeZone, type OffsetZone, TzifZone } from "./offset-zone.ts";
import { parseTzif, TzifError } from "./tzif.ts";
import { readZoneDocument, zoneDocumentFile } from "./zone-document.ts";

/** Where time zone data come from: the machine's packages, a file that an administrator installed, or Node's ICU. */
export type ZoneSourceKind = "installed" | "machine" | "node";

/** One copy of the time zone database. Zones are read on demand and kept. */
export interface ZoneSource {
  kind: ZoneSourceKind;
  /** Release of the database, such as 2026a; null if the source does not name it. */
  version: string | null;
  /** When it arrived on this machine, in epoch ms; null if unknown. */
  arrivedAt: number | null;
  /** Null for a name that the source does not have, or has as a damaged file. */
  zone(name: string): OffsetZone | null;
  /** Names that could not be read, with the reason. */
  readonly damaged: ReadonlyMap<string, string>;
}

/** The only names that may become paths. */
const SAFE_NAME = /^[A-Za-z0-9_+-]+(\/[A-Za-z0-9_+-]+){0,3}$/;

/** False for a name that must not become part of a path. */
export function isSafeZoneName(name: string): boolean {
  return SAFE_NAME.test(name);
}

const VERSION = /^(?:# version )?(\d{4}[a-z]{1,2})/;
const VERSION_FILES = ["tzdata.zi", "+VERSION", "version"] as const;
/** The whole database as text, with its links. */
const DATABASE_FILE = "tzdata.zi";
/** Longer than any line with a version. */
const VERSION_BYTES = 80;
const MAX_DATABASE_BYTES = 4 * 1_048_576;

/**
 * The database of the operating system: a folder of TZif files. Null if the folder is missing or has no zones. Names that
 * the folder lacks, such as US/Pacific without the package of old names, are found by the links of its tzdata.zi.
 */
export function openZoneFolder(folder: string): ZoneSource | null {
  if (statOf(join(folder, "Etc/UTC")) === null && statOf(join(folder, "UTC")) === null) return null;
  const versionFile = VERSION_FILES.map((name) => join(folder, name)).find((path) => readVersion(path) !== null);
  const stat = statOf(versionFile ?? folder);
  let links: ReadonlyMap<string, string> | null = null;
  const linkOf = (name: string): string | undefined => {
    links ??= readLinks(join(folder, DATABASE_FILE));
    return links.get(name);
  };
  const cache = createZoneCache((name) => {
    const bytes = readIfPresent(join(folder, name));
    const target = bytes === null ? linkOf(name) : undefined;
    return target === undefined || !SAFE_NAME.test(target) ? bytes : readIfPresent(join(folder, target));
  });
  return {
    kind: "machine",
    version: versionOfFolder(folder),
    arrivedAt: stat?.mtimeMs ?? null,
    ...cache,
  };
}

/** The database that `carillon tz install` put into `folder`; null if there is none. Throws TzifError if it is damaged. */
export function openInstalledZones(folder: string): ZoneSource | null {
  const file = zoneDocumentFile(folder);
  if (statOf(file) === null) return null;
  const { version, zones, links, installedAt } = readZoneDocument(readFileSync(file, "utf8"));
  const cache = createZoneCache((name) => {
    const content = zones[name] ?? zones[links[name] ?? ""];
    return content === undefined ? null : Buffer.from(content, "base64");
  });
  return {
    kind: "installed",
    version,
    arrivedAt: Date.parse(installedAt ?? "") || null,
    ...cache,
  };
}

/** The database inside the ICU of Node. */
export function openNodeZones(): ZoneSource {
  const zones = new Map<string, OffsetZone | null>();
  return {
    kind: "node",
    version: VERSION.exec(process.versions.tz ?? "")?.[1] ?? null,
    arrivedAt: null,
    zone(name) {
      const known = zones.get(name);
      if (known !== undefined) return known;
      const zone = new NodeZone(name);
      zones.set(name, zone.isValid ? zone : null);
      return zone.isValid ? zone : null;
    },
    damaged: new Map(),
  };
}

/** Reads zones on demand; a damaged one counts as missing. */
function createZoneCache(read: (name: string) => Buffer | null): Pick<ZoneSource, "zone" | "damaged"> {
  const zones = new Map<string, OffsetZone | null>();
  const damaged = new Map<string, string>();
  const open = (name: string): OffsetZone | null => {
    if (!SAFE_NAME.test(name)) return null;
    try {
      const bytes = read(name);
      return bytes && new TzifZone(name, parseTzif(bytes));
    } catch (error) {
      damaged.set(
        name,
        error instanceof TzifError ? error.message : sentence("time-zones.unreadable", { code: errorCode(error) }),
      );
      return null;
    }
  };
  return {
    zone(name) {
      const known = zones.get(name);
      if (known !== undefined) return known;
      const zone = open(name);
      zones.set(name, zone);
      return zone;
    },
    damaged,
  };
}

/** Null for a missing file and for a folder, such as `America`. */
function readIfPresent(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if (["ENOENT", "EISDIR", "ENOTDIR"].includes(errorCode(error))) return null;
    throw error;
  }
}

/** The release that a folder of zones names; null if it names none. */
export function versionOfFolder(folder: string): string | null {
  for (const name of VERSION_FILES) {
    const version = readVersion(join(folder, name));
    if (version !== null) return version;
  }
  return null;
}

/** The release that a file names in its first line; null if it names none. */
function readVersion(path: string): string | null {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return null;
  }
  try {
    const buffer = Buffer.alloc(VERSION_BYTES);
    const length = readSync(file, buffer, 0, VERSION_BYTES, 0);
    return VERSION.exec(buffer.toString("latin1", 0, length))?.[1] ?? null;
  } catch {
    return null;
  } finally {
    closeSync(file);
  }
}

/** Targets by alias: lines `L TARGET ALIAS`. @source zic(8), link lines */
function readLinks(path: string): ReadonlyMap<string, string> {
  if ((statOf(path)?.size ?? MAX_DATABASE_BYTES) >= MAX_DATABASE_BYTES) return new Map();
  const lines = readFileSync(path, "utf8").matchAll(/^L(?:ink)? +(\S+) +(\S+)/gm);
  return new Map([...lines].map(([, target = "", alias = ""]) => [alias, target]));
}

function statOf(path: string): { mtimeMs: number; size: number; ino: number } | null {
  return statSync(path, { throwIfNoEntry: false }) ?? null;
}

/** The files that a database in these folders is recognised by. */
export function versionFilesOf(folder: string, installedFolder: string | null): string[] {
  const installed = installedFolder === null ? [] : [zoneDocumentFile(installedFolder)];
  return [...VERSION_FILES.map((name) => join(folder, name)), ...installed];
}

/** Changes when the file changes, appears or disappears. */
export function fileSignature(path: string): string {
  const stat = statOf(path);
  return stat ? `${stat.mtimeMs} ${stat.size} ${stat.ino}` : "missing";
}

function errorCode(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? "unknown");
}
