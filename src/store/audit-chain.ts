import { hash } from "node:crypto";
import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import type { SqlValue, StoreReader } from "./store.ts";

/** The columns that an entry's hash covers, in the order in which it does. */
export const AUDIT_COLUMNS: readonly string[] = [
  ...["pk", "id", "created_at", "updated_at", "op", "resource", "row_id"],
  ...["actor_kind", "actor_id", "actor_name", "address", "acting_domain_id"],
  ...["before", "after", "details"],
];

/** The last entry of the chain; number 0 and an empty hash before the first. */
export interface AuditTail {
  pk: number;
  hash: string;
}

/** What a look at the whole chain found. */
export interface AuditVerification {
  intact: boolean;
  /** Entries that are as they were written, from the first one on. */
  entries: number;
  /** Number and hash of the last of them: noted elsewhere, they show later whether entries were cut off or all hashes made anew. */
  last: { number: number; hash: string };
  /** The first entry that is not as it was written; null when all are. */
  broken: { number: number; id: string | null; at: string | null; reason: string } | null;
  /** False when there is more to read behind `last`. */
  finished: boolean;
}

/** Which part of the audit is read. */
export interface AuditRange {
  /** Where an earlier look ended; the beginning unless given. */
  after?: AuditVerification["last"];
  /** An earlier verdict's last entry, which must still be there. */
  noted?: AuditVerification["last"];
  /** Most entries read; all unless given. */
  most?: number;
}

/** Entries read at a time, however large they are; a turn of the event loop lies between two slices. */
const CHUNK_SIZE = 25;

/** The hash of an entry: SHA-256 (hex) over the hash before it and its columns in order, as JSON. */
export function chainHash(previous: string, entry: readonly unknown[]): string {
  return hash("sha256", JSON.stringify([previous, ...entry]), "hex");
}

/** The entry that the next one follows. */
export function readAuditTail(get: (sql: string) => unknown): AuditTail {
  const found = get("SELECT pk, hash FROM audit_entries ORDER BY pk DESC LIMIT 1") as AuditTail | null | undefined;
  return found ?? { pk: 0, hash: "" };
}

/** Reads the audit in slices and says where it is no longer what was written: an entry changed, taken out, put in or cut off. */
export async function verifyAudit(
  reader: Pick<StoreReader, "all">,
  clock: Clock,
  { after = { number: 0, hash: "" }, noted, most = Number.POSITIVE_INFINITY }: AuditRange = {},
): Promise<AuditVerification> {
  const columns = [...AUDIT_COLUMNS, "hash"].join(", ");
  let last = after;
  const verdict = (broken: AuditVerification["broken"], finished = true): AuditVerification => ({
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
        findTampering(row, last) ?? (noted?.number === row.pk && noted.hash !== row.hash ? CHECKPOINT_MISMATCH : null);
      if (reason) return verdict({ number: row.pk, id: row.id, at: toIsoTime(row.created_at), reason });
      last = { number: row.pk, hash: row.hash };
    }
    if (rows.length < CHUNK_SIZE) break;
    if (last.number - after.number >= most) return verdict(null, false);
    await yieldToEventLoop(clock);
  }
  const cut = noted !== undefined && noted.number > last.number;
  return verdict(cut ? { number: last.number + 1, id: null, at: null, reason: "The end was cut off." } : null);
}

const CHECKPOINT_MISMATCH = "It is not the entry that was noted under this number.";

type Entry = Record<string, SqlValue> & { pk: number; id: string; created_at: number; hash: string };

function findTampering({ hash: written, ...entry }: Entry, before: AuditVerification["last"]): string | null {
  if (entry.pk !== before.number + 1) return `Entries ${before.number + 1} to ${entry.pk - 1} are missing.`;
  const columns = AUDIT_COLUMNS.map((name) => entry[name]);
  return written === chainHash(before.hash, columns) ? null : "It or the entry before was changed.";
}

/** What was tampered with may be no time at all. */
function toIsoTime(at: unknown): string | null {
  return typeof at === "number" && Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : null;
}
