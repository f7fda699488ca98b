import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { AuditNote, AuditRange, AuditVerification, KeptAuditNote, SignedAuditNote } from "./audit-types.ts";
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

/** Entries per query; the event loop gets a turn after each chunk. */
const CHUNK_SIZE = 25;

/** The key of the chain, derived from the secret key, which is not in the database. */
export function auditKeyOf(secretKey: Buffer): Buffer {
  return createHmac("sha256", secretKey).update("audit chain").digest();
}

/** The hash of an entry: HMAC-SHA256 (hex) over the hash before it and its columns in order, as JSON. */
export function chainHash(key: Buffer, previous: string, entry: readonly unknown[]): string {
  return createHmac("sha256", key)
    .update(JSON.stringify([previous, ...entry]))
    .digest("hex");
}

/** The hash of releases before the entry `audit-sealed`: SHA-256, without a key. */
function unkeyedChainHash(previous: string, entry: readonly unknown[]): string {
  return hash("sha256", JSON.stringify([previous, ...entry]), "hex");
}

export function signAuditNote(key: Buffer, { number, hash: head, at }: AuditNote): SignedAuditNote {
  return { number, hash: head, at, mac: noteMac(key, { number, hash: head, at }).toString("hex") };
}

export function isAuthenticNote(key: Buffer, note: SignedAuditNote): boolean {
  const given = Buffer.from(note.mac, "hex");
  const expected = noteMac(key, note);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function noteMac(key: Buffer, { number, hash: head, at }: AuditNote): Buffer {
  return createHmac("sha256", key)
    .update(JSON.stringify(["end of the audit", number, head, at]))
    .digest();
}

/** Parses a note that was kept elsewhere; null if it is none. */
export function parseAuditNote(value: unknown): SignedAuditNote | null {
  if (typeof value !== "object" || value === null) return null;
  const { number, hash: head, at, mac } = value as Partial<SignedAuditNote>;
  const isNote =
    Number.isSafeInteger(number) && (number as number) >= 0 && Number.isSafeInteger(at) && isHash(head) && isHash(mac);
  return isNote ? ({ number, hash: head, at, mac } as SignedAuditNote) : null;
}

function isHash(value: unknown): boolean {
  return typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
}

/** Reads the last entry, which the next one is chained to. */
export function readAuditTail(get: (sql: string) => unknown): AuditTail {
  const found = get("SELECT pk, hash FROM audit_entries ORDER BY pk DESC LIMIT 1") as AuditTail | null | undefined;
  return found ?? { pk: 0, hash: "" };
}

/** Operation of the entry that seals the entries of earlier releases, which have hashes without a key. */
export const AUDIT_SEALED = "audit-sealed";
/** Member of the details of an entry that a restore leaves: number of the last entry of the backup. */
export const RESTORED_AFTER = "restoredAfterEntry";

/** Verifies the audit hash chain in chunks: finds changed, removed, inserted and truncated entries. */
export async function verifyAudit(
  reader: Pick<StoreReader, "all">,
  clock: Clock,
  key: Buffer,
  { after = { number: 0, hash: "" }, checkpoint, notes = [], maxEntries = Number.POSITIVE_INFINITY }: AuditRange = {},
): Promise<AuditVerification> {
  const columns = [...AUDIT_COLUMNS, "hash"].join(", ");
  const links = createLinkCheck(key, readSealNumber(reader));
  const kept = createNoteCheck(reader, notes, checkpoint);
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
      const reason = links.findTampering(row, last) ?? kept.findMismatch(row);
      if (reason) return result({ number: row.pk, id: row.id, at: toIsoTime(row.created_at), reason });
      last = { number: row.pk, hash: row.hash };
    }
    if (rows.length < CHUNK_SIZE) break;
    if (last.number - after.number >= maxEntries) return result(null, false);
    await yieldToEventLoop(clock);
  }
  const reason = last.number === 0 ? findEmptied(reader) : null;
  const missing = reason ?? kept.findTruncation(last.number);
  return result(missing ? { number: last.number + 1, id: null, at: null, reason: missing } : null);
}

/** Verifies a chain of an earlier release at once, before it is sealed; null if it is intact. */
export function findUnkeyedTampering(
  rows: Iterable<Readonly<Record<string, unknown>>>,
): { number: number; reason: string } | null {
  let last = { number: 0, hash: "" };
  for (const row of rows as Iterable<Entry>) {
    const reason = findBrokenLink(row, last, unkeyedChainHash);
    if (reason) return { number: row.pk, reason };
    last = { number: row.pk, hash: row.hash };
  }
  return null;
}

type Entry = Record<string, SqlValue> & { pk: number; id: string; created_at: number; hash: string };

/** Entries before the seal have the hashes of earlier releases; from the seal on, only hashes with the key count. */
function createLinkCheck(key: Buffer, sealNumber: number) {
  const keyed = (previous: string, entry: readonly unknown[]): string => chainHash(key, previous, entry);
  return {
    findTampering: (entry: Entry, before: AuditVerification["last"]): string | null =>
      findBrokenLink(entry, before, entry.pk < sealNumber ? unkeyedChainHash : keyed),
  };
}

/** An invented seal does not help: its own hash needs the key. */
function readSealNumber(reader: Pick<StoreReader, "all">): number {
  const [found] = reader.all<{ pk: number | null }>(
    "SELECT MIN(pk) AS pk FROM audit_entries WHERE op = ?",
    AUDIT_SEALED,
  );
  return found?.pk ?? 0;
}

function findBrokenLink(
  { hash: written, ...entry }: Entry,
  before: AuditVerification["last"],
  linkHash: (previous: string, entry: readonly unknown[]) => string,
): string | null {
  if (entry.pk !== before.number + 1)
    return sentence("audit.missing", { first: before.number + 1, last: entry.pk - 1 });
  const columns = AUDIT_COLUMNS.map((name) => entry[name]);
  return written === linkHash(before.hash, columns) ? null : sentence("audit.changed");
}

/** Every write of a row leaves a record in the change feed and in the audit. */
function findEmptied(reader: Pick<StoreReader, "all">): string | null {
  const isUsed = reader.all("SELECT 1 FROM changes LIMIT 1").length > 0;
  return isUsed ? sentence("audit.emptied") : null;
}

/** Compares the chain with the ends that others kept. */
function createNoteCheck(
  reader: Pick<StoreReader, "all">,
  notes: readonly KeptAuditNote[],
  checkpoint: AuditRange["checkpoint"],
) {
  const restores = readRestores(reader);
  const isReplaced = ({ number, at }: AuditNote): boolean =>
    restores.some((restored) => restored.at >= at && number > restored.after);
  const binding = notes.filter((note) => note.number > 0 && !isReplaced(note));
  const byNumber = new Map<number, KeptAuditNote[]>();
  for (const note of binding) byNumber.set(note.number, [...(byNumber.get(note.number) ?? []), note]);
  const newest = binding.reduce<KeptAuditNote | null>(
    (best, note) => (best && best.number >= note.number ? best : note),
    null,
  );
  return {
    findMismatch(row: Entry): string | null {
      if (checkpoint?.number === row.pk && checkpoint.hash !== row.hash) return sentence("audit.checkpoint");
      const other = byNumber.get(row.pk)?.find((note) => note.hash !== row.hash);
      return other
        ? sentence("error.the-entry-does-not-match-the-end-of-the-audit-that-was-kept-note", placeOf(other))
        : null;
    },
    findTruncation(lastNumber: number): string | null {
      if (newest && newest.number > lastNumber)
        return sentence("audit.cut-off-noted", { number: newest.number, ...placeOf(newest) });
      return checkpoint !== undefined && checkpoint.number > lastNumber ? sentence("audit.cut-off") : null;
    },
  };
}

function placeOf({ source, at }: KeptAuditNote): { place: string; at: string } {
  return { place: source, at: toIsoTime(at) ?? sentence("audit.unknown-day") };
}

/** Restored backups, which replaced the entries after the backup. Their entries are in the chain themselves. */
function readRestores(reader: Pick<StoreReader, "all">): { at: number; after: number }[] {
  const rows = reader.all<{ at: number; details: string }>(
    `SELECT created_at AS at, details FROM audit_entries WHERE op = 'trust-change' AND details LIKE ?`,
    `%"${RESTORED_AFTER}":%`,
  );
  return rows.flatMap(({ at, details }) => {
    const after = (JSON.parse(details) as Record<string, unknown>)[RESTORED_AFTER];
    return typeof after === "number" ? [{ at, after }] : [];
  });
}

/** A changed entry may hold a value that is no valid time. */
function toIsoTime(at: unknown): string | null {
  return typeof at === "number" && Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : null;
}
