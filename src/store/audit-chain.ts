import { hash } from "node:crypto";
import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import type { SqlValue, StoreReader } from "./store.ts";

/** The columns that an entry's hash covers, in hash order. */
export const AUDIT_COLUMNS: readonly string[] = [
  ...["pk", "id", "created_at", "updated_at", "op", "resource", "row_id"],
  ...["actor_kind", "actor_id", "actor_name", "address", "acting_domain_id"],
  ...["before", "after", "details"],
];

/** The last entry of the audit hash chain; number 0 and an empty hash before the first. */
export interface AuditTail {
  pk: number;
  hash: string;
}

/** The result of verifying the hash chain. */
export interface AuditVerification {
  intact: boolean;
  /** Number of intact entries, counted from the first. */
  entries: number;
  /**
   * Number and hash of the last intact entry. Stored elsewhere, they reveal a truncated or fully recomputed chain
   * later.
   */
  last: { number: number; hash: string };
  /** The first entry that was tampered with; null when the chain is intact. */
  broken: { number: number; id: string | null; at: string | null; reason: string } | null;
  /** False when entries after `last` have not been read yet. */
  finished: boolean;
}

/** The part of the audit to verify. */
export interface AuditRange {
  /** `last` of an earlier run; default: from the first entry. */
  after?: AuditVerification["last"];
  /** `last` of an earlier run that must still be in the chain. */
  checkpoint?: AuditVerification["last"];
  /** Maximum number of entries to read; default: all. */
  maxEntries?: number;
}

/** Entries per query; the event loop gets a turn after each chunk. */
const CHUNK_SIZE = 25;

/** The hash of an entry: SHA-256 (hex) over the hash before it and its columns in order, as JSON. */
export function chainHash(previous: string, entry: readonly unknown[]): string {
  return hash("sha256", JSON.stringify([previous, ...entry]), "hex");
}

/** Reads the last entry, which the next one is chained to. */
export function readAuditTail(get: (sql: string) => unknown): AuditTail {
  const found = get("SELECT pk, hash FROM audit_entries ORDER BY pk DESC LIMIT 1") as AuditTail | null | undefined;
  return found ?? { pk: 0, hash: "" };
}

/** Verifies the audit hash chain in chunks: finds changed, removed, inserted and truncated entries. */
export async function verifyAudit(
  reader: Pick<StoreReader, "all">,
  clock: Clock,
  { after = { number: 0, hash: "" }, checkpoint, maxEntries = Number.POSITIVE_INFINITY }: AuditRange = {},
): Promise<AuditVerification> {
  const columns = [...AUDIT_COLUMNS, "hash"].join(", ");
  let last = after;
  const result = (broken: AuditVerification["broken"], finished = true): AuditVerification => ({
    intact: broken === null,
    entries: last.number,
    last,
    broken,
    finished,
  });
  for (;;) {
    const rows = reader.all<Entry>(
      `SELECT ${columns} FROM audit_entries WHERE pk > ? ORDER BY pk LIMIT ${CHUNK_SIZE}`,
      last.number,
    );
    for (const row of rows) {
      const reason =
        findTampering(row, last) ??
        (checkpoint?.number === row.pk && checkpoint.hash !== row.hash ? CHECKPOINT_MISMATCH : null);
      if (reason) return result({ number: row.pk, id: row.id, at: toIsoTime(row.created_at), reason });
      last = { number: row.pk, hash: row.hash };
    }
    if (rows.length < CHUNK_SIZE) break;
    if (last.number - after.number >= maxEntries) return result(null, false);
    await yieldToEventLoop(clock);
  }
  const isTruncated = checkpoint !== undefined && checkpoint.number > last.number;
  return result(isTruncated ? { number: last.number + 1, id: null, at: null, reason: "The end was cut off." } : null);
}

const CHECKPOINT_MISMATCH = "The entry does not match the checkpoint stored for this number.";

type Entry = Record<string, SqlValue> & { pk: number; id: string; created_at: number; hash: string };

function findTampering({ hash: written, ...entry }: Entry, before: AuditVerification["last"]): string | null {
  if (entry.pk !== before.number + 1) return `Entries ${before.number + 1} to ${entry.pk - 1} are missing.`;
  const columns = AUDIT_COLUMNS.map((name) => entry[name]);
  return written === chainHash(before.hash, columns) ? null : "This entry or the one before it was changed.";
}

/** A changed entry may hold a value that is no valid time. */
function toIsoTime(at: unknown): string | null {
  return typeof at === "number" && Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : null;
}
