import { UpstreamError } from "../../lib/errors.ts";
import type { DatabaseSummary } from "../../store/database-inspection.ts";

/** A file in a backup, other than the manifest. */
export interface BackupFile {
  /** Path within the archive, such as `files/3f/3f…`. */
  path: string;
  bytes: number;
  /** Hex. */
  sha256: string;
}

/** `manifest.json`, the first entry of the archive. */
export interface BackupManifest {
  format: 1;
  /** Carillon version that took the backup. */
  version: string;
  /** ISO 8601. */
  takenAt: string;
  /** Fingerprint of the secret key that the values are encrypted with. The key itself is not in the backup. */
  keyFingerprint: string;
  rows: DatabaseSummary["rows"];
  audit: DatabaseSummary["audit"];
  files: BackupFile[];
}

/** Name of the manifest within the archive. */
export const MANIFEST_FILE = "manifest.json";
/** Name of the file, within the archive, with the SHA-256 (hex) of the manifest. */
export const MANIFEST_CHECKSUM_FILE = "manifest.sha256";
/** Name of the database within the archive. */
export const DATABASE_FILE = "carillon.db";
/** Folders of the data directory that are part of a backup. */
export const BACKUP_FOLDERS: readonly string[] = ["files", "plugins"];

/** Parses a manifest. Throws UpstreamError for anything else and for other formats. */
export function parseManifest(text: string): BackupManifest {
  let value: Partial<BackupManifest>;
  try {
    value = JSON.parse(text) as Partial<BackupManifest>;
  } catch (error) {
    throw new UpstreamError("upstream", `Can't parse ${MANIFEST_FILE} of the backup.`, {}, error);
  }
  const isSupported =
    value.format === 1 &&
    [value.version, value.takenAt, value.keyFingerprint].every((each) => typeof each === "string") &&
    typeof value.rows === "object" &&
    typeof value.audit === "object" &&
    Array.isArray(value.files);
  if (!isSupported) throw new UpstreamError("upstream", `${MANIFEST_FILE} has an unsupported format.`);
  return value as BackupManifest;
}

/** Sorts by time, such as `carillon-2026-11-22T014500Z.tar`. */
export function backupName(takenAt: number): string {
  return `carillon-${new Date(takenAt).toISOString().slice(0, 19).replaceAll(":", "")}Z.tar`;
}

/** Time of the backup with this name, epoch ms; null for other names. */
export function backupTimeOf(name: string): number | null {
  const match = /^carillon-(\d{4}-\d{2}-\d{2})T(\d{2})(\d{2})(\d{2})Z\.tar$/.exec(name);
  if (!match) return null;
  const [, day, hour, minute, second] = match;
  const at = Date.parse(`${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(at) ? null : at;
}

const DAY_MS = 86_400_000;

/**
 * Retention: which backups to delete, that is all but the newest one of each of the last `days` days and of each of the last
 * `weeks` weeks that have one. Pure; days are UTC days.
 */
export function expiredBackups(takenAt: readonly number[], keep: { days: number; weeks: number }): number[] {
  const newestFirst = takenAt.toSorted((one, other) => other - one);
  const kept = new Set<number>();
  const keepNewestOf = (limit: number, groupOf: (at: number) => number): void => {
    const groups = new Set<number>();
    for (const time of newestFirst) {
      if (groups.has(groupOf(time)) || groups.size >= limit) continue;
      groups.add(groupOf(time));
      kept.add(time);
    }
  };
  keepNewestOf(keep.days, (at) => Math.floor(at / DAY_MS));
  // 1 January 1970 was a Thursday.
  keepNewestOf(keep.weeks, (at) => Math.floor((at / DAY_MS + 3) / 7));
  return newestFirst.filter((at) => !kept.has(at));
}
