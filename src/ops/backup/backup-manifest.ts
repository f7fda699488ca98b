import { UpstreamError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
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
    throw new UpstreamError(
      "upstream",
      sentence("error.can-t-parse-file-of-the-backup", { file: MANIFEST_FILE }),
      {},
      error,
    );
  }
  const isSupported =
    value.format === 1 &&
    [value.version, value.takenAt, value.keyFingerprint].every((each) => typeof each === "string") &&
    typeof value.rows === "object" &&
    typeof value.audit === "object" &&
    Array.isArray(value.files);
  if (!isSupported)
    throw new UpstreamError("upstream", sentence("error.file-has-an-unsupported-format", { file: MANIFEST_FILE }));
  return value as BackupManifest;
}

/** End of the name of an encrypted backup. */
export const ENCRYPTED_SUFFIX = ".age";

/**
 * Sorts by time, such as `carillon-2026-11-22T014500Z.tar`, or `carillon-2026-11-22T014500Z-manual.tar` of a backup that
 * somebody asked for: retention never deletes these. Encrypted ones end with `.tar.age`.
 */
export function backupName(takenAt: number, isScheduled: boolean, isEncrypted = false): string {
  const time = new Date(takenAt).toISOString().slice(0, 19).replaceAll(":", "");
  return `carillon-${time}Z${isScheduled ? "" : MANUAL}.tar${isEncrypted ? ENCRYPTED_SUFFIX : ""}`;
}

const MANUAL = "-manual";

/** Whether a backup of this name was taken on a schedule. */
export function isScheduledBackup(name: string): boolean {
  return backupTimeOf(name) !== null && !name.includes(`${MANUAL}.tar`);
}

/** Time of the backup with this name, epoch ms; null for other names. */
export function backupTimeOf(name: string): number | null {
  const match = /^carillon-(\d{4}-\d{2}-\d{2})T(\d{2})(\d{2})(\d{2})Z(?:-manual)?\.tar(?:\.age)?$/.exec(name);
  if (!match) return null;
  const [, day, hour, minute, second] = match;
  const at = Date.parse(`${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(at) ? null : at;
}

const DAY_MS = 86_400_000;

/** What retention keeps. */
export interface BackupRetention {
  /** Days of which the first and the last backup are kept. */
  days: number;
  /** Weeks of which the last backup is kept. */
  weeks: number;
  /** Offset of the site's time zone from UTC at an instant, in ms. */
  offsetAt(at: number): number;
}

/**
 * Retention: which backups to delete, that is all but the first and the last one of each of the last `days` days and the last
 * one of each of the last `weeks` weeks that have one. Days and weeks are those of the site.
 * @source docs/decisions/0605-retention-of-backups.md
 */
export function expiredBackups(takenAt: readonly number[], { days, weeks, offsetAt }: BackupRetention): number[] {
  const newestFirst = takenAt.toSorted((one, other) => other - one);
  const dayOf = (at: number): number => Math.floor((at + offsetAt(at)) / DAY_MS);
  // 1 January 1970 was a Thursday.
  const weekOf = (at: number): number => Math.floor((dayOf(at) + 3) / 7);
  const groupsOf = (keyOf: (at: number) => number): number[][] => {
    const groups = new Map<number, number[]>();
    for (const at of newestFirst) groups.set(keyOf(at), [...(groups.get(keyOf(at)) ?? []), at]);
    return [...groups.values()];
  };
  const ofDays = groupsOf(dayOf)
    .slice(0, days)
    .flatMap((ofDay) => [ofDay[0], ofDay.at(-1)]);
  const ofWeeks = groupsOf(weekOf)
    .slice(0, weeks)
    .map(([last]) => last);
  const kept = new Set([...ofDays, ...ofWeeks]);
  return newestFirst.filter((at) => !kept.has(at));
}
