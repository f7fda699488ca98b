import { UpstreamError } from "../../lib/errors.ts";
import type { DatabaseSummary } from "../../store/database-inspection.ts";

/** What lies in a backup beside the manifest itself. */
export interface BackupFile {
  /** Path within the archive, such as `files/3f/3f…`. */
  path: string;
  bytes: number;
  /** Hex. */
  sha256: string;
}

/** What a backup says of itself: `manifest.json`, the first entry of the archive. */
export interface BackupManifest {
  format: 1;
  /** The Carillon that made it. */
  version: string;
  /** ISO 8601. */
  takenAt: string;
  /** Which secret key it was sealed with. The key itself is not in it. */
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
/** Folders of the data directory that a backup takes along. */
export const BACKUP_FOLDERS: readonly string[] = ["files", "plugins"];

/** Reads a manifest. Throws UpstreamError for what is none, or one of another format. */
export function parseManifest(text: string): BackupManifest {
  let value: Partial<BackupManifest>;
  try {
    value = JSON.parse(text) as Partial<BackupManifest>;
  } catch (error) {
    throw new UpstreamError("upstream", `${MANIFEST_FILE} of the backup can't be read.`, {}, error);
  }
  const known =
    value.format === 1 &&
    [value.version, value.takenAt, value.keyFingerprint].every((each) => typeof each === "string") &&
    typeof value.rows === "object" &&
    typeof value.audit === "object" &&
    Array.isArray(value.files);
  if (!known)
    throw new UpstreamError("upstream", `${MANIFEST_FILE} is not that of a backup which this Carillon reads.`);
  return value as BackupManifest;
}

/** `carillon-2026-11-22T014500Z.tar`, which sorts by time. */
export function backupName(takenAt: number): string {
  return `carillon-${new Date(takenAt).toISOString().slice(0, 19).replaceAll(":", "")}Z.tar`;
}

/** When the backup of that name was made, epoch ms; null for other names. */
export function backupTimeOf(name: string): number | null {
  const match = /^carillon-(\d{4}-\d{2}-\d{2})T(\d{2})(\d{2})(\d{2})Z\.tar$/.exec(name);
  if (!match) return null;
  const [, day, hour, minute, second] = match;
  const at = Date.parse(`${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(at) ? null : at;
}

const DAY_MS = 86_400_000;

/**
 * Which of the moments need not be kept: all but the newest of each of the last `days` days with one, and of each of the
 * last `weeks` weeks with one. Pure; days are those of UTC.
 */
export function expiredBackups(takenAt: readonly number[], keep: { days: number; weeks: number }): number[] {
  const newestFirst = takenAt.toSorted((one, other) => other - one);
  const kept = new Set<number>();
  const keepNewestOf = (many: number, groupOf: (at: number) => number): void => {
    const groups = new Set<number>();
    for (const at of newestFirst) {
      if (groups.has(groupOf(at)) || groups.size >= many) continue;
      groups.add(groupOf(at));
      kept.add(at);
    }
  };
  keepNewestOf(keep.days, (at) => Math.floor(at / DAY_MS));
  // The first of January 1970 was a Thursday.
  keepNewestOf(keep.weeks, (at) => Math.floor((at / DAY_MS + 3) / 7));
  return newestFirst.filter((at) => !kept.has(at));
}
