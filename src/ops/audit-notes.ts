import { closeSync, existsSync, openSync, readFileSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import type { Clock, Timer } from "../lib/clock.ts";
import { replaceFile } from "../lib/durable-file.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { parseAuditNote } from "../store/audit-chain.ts";
import type { KeptAuditNote, SignedAuditNote } from "../store/audit-types.ts";
import type { AuditLog, InternalTable, Store } from "../store/store.ts";
import { isEncryptedName, readLabel } from "./backup/backup-encryption.ts";
import { MANIFEST_FILE, parseManifest } from "./backup/backup-manifest.ts";
import { listBackups } from "./backup/take-backup.ts";
import type { HealthReason } from "./health/health.ts";
import { tailLogFiles } from "./logs/log-reader.ts";

/** Ends of the audits of other appliances, which this one keeps for them. */
export const HELD_AUDIT_NOTES: InternalTable = {
  name: "audit_held_notes",
  sql: `CREATE TABLE IF NOT EXISTS audit_held_notes (
    endpoint TEXT NOT NULL, slot TEXT NOT NULL, note TEXT NOT NULL, PRIMARY KEY (endpoint, slot)) STRICT, WITHOUT ROWID`,
};

/** Name of the file, beside the database, with the last end of the audit. */
export const AUDIT_END_FILE = "audit-end.json";
/** The event code by which the lines are found in the log. */
const LOG_EVENT = "audit.end";
/** @source docs/decisions/0484-audit-chain-with-a-key.md */
const INTERVAL_MS = 3_600_000;
/** Notes of one source, at most; those of a year of days fit. */
const MAX_NOTES = 500;
/** Days for which the first note of an appliance is kept. */
const MAX_HELD_DAYS = 400;
const MAX_MANIFEST_BYTES = 64 * 1_048_576;
const TAR_BLOCK_BYTES = 512;

/**
 * The ends of the audit that are kept outside the database: in a file beside it, in the log, in backups, at the cloud and at
 * the peers. Each must still be in the chain.
 */
export interface AuditNotes {
  start(): void;
  stop(): void;
  /** The last note, for others to keep; null before the first. */
  current(): SignedAuditNote | null;
  /** Called with each new note. Returns how to unsubscribe. */
  onNote(listener: (note: SignedAuditNote) => void): () => void;
  /** Notes of this appliance that another one has kept. What this appliance did not sign is ignored. */
  receiveKept(source: string, notes: readonly unknown[]): void;
  /** All ends that are known, from all sources. */
  collect(): Promise<KeptAuditNote[]>;
  healthReasons(): HealthReason[];
}

export interface AuditNotesDeps {
  store: { audit: AuditLog };
  clock: Clock;
  log: Log;
  dataDir: string;
  /** Folder of the backups. */
  backupFolder: string;
}

/** Writes nothing before `start`. */
export function createAuditNotes({ store, clock, log, dataDir, backupFolder }: AuditNotesDeps): AuditNotes {
  const { audit } = store;
  const file = join(dataDir, AUDIT_END_FILE);
  const listeners = new Set<(note: SignedAuditNote) => void>();
  const kept = new Map<string, SignedAuditNote[]>();
  let last: SignedAuditNote | null = null;
  let timer: Timer | null = null;
  let missing: SignedAuditNote | null = null;

  const authentic = (value: unknown): SignedAuditNote | null => {
    const note = parseAuditNote(value);
    return note && audit.isAuthentic(note) ? note : null;
  };

  /** The end goes on from what was kept. What is not in the audit any more stays in the file, as evidence. */
  function note(): void {
    const before = authentic(readJson(file));
    if (before && before.number > 0 && !audit.includes(before)) {
      if (missing === null)
        log.error({ event: "audit.end_missing", number: before.number }, "audit entries are missing or were changed");
      missing = before;
      return;
    }
    const end = audit.end();
    if (!end) return;
    last = end;
    log.info({ event: "audit.end", number: end.number, hash: end.hash, at: end.at, mac: end.mac }, "end of the audit");
    try {
      replaceFile(file, JSON.stringify(end));
    } catch (error) {
      log.error({ event: "audit.end_not_kept", err: error }, "failed to keep the end of the audit");
    }
    for (const listener of listeners) listener(end);
  }

  return {
    start() {
      note();
      timer = clock.every(INTERVAL_MS, note);
    },
    stop() {
      timer?.cancel();
      note();
    },
    current: () => last,
    onNote(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    receiveKept(source, notes) {
      const found = notes.slice(0, MAX_NOTES).flatMap((each) => authentic(each) ?? []);
      if (found.length > 0) kept.set(source, found);
    },
    async collect() {
      const own = authentic(readJson(file));
      const lines = await tailLogFiles(dataDir, MAX_NOTES, { text: `"${LOG_EVENT}"` });
      const logged = lines.flatMap((line) => authentic(parseJson(line)) ?? []);
      const named = (source: string, notes: readonly SignedAuditNote[]): KeptAuditNote[] =>
        notes.map(({ number, hash, at }) => ({ number, hash, at, source }));
      return [
        ...named(sentence("audit.kept-in-database"), own ? [own] : []),
        ...named(sentence("audit.kept-in-log"), logged),
        ...(await notesOfBackups(backupFolder)),
        ...[...kept].flatMap(([source, notes]) => named(source, notes)),
      ];
    },
    healthReasons: () =>
      missing === null
        ? []
        : [
            {
              level: "red",
              code: "audit",
              reason: sentence("health.audit-missing", {
                number: missing.number,
                date: new Date(missing.at).toISOString(),
              }),
            },
          ],
  };
}

/** Keeps the ends of other appliances' audits: the newest, and the first of each day, which later ones do not replace. */
export interface HeldAuditNotes {
  /** `endpoint` must be proven; the note itself can only be checked by that appliance. */
  keep(endpoint: string, note: unknown): Promise<void>;
  /** Those of an appliance, the oldest first. */
  of(endpoint: string): SignedAuditNote[];
}

export function createHeldAuditNotes(store: Pick<Store, "all" | "write">, clock: Pick<Clock, "now">): HeldAuditNotes {
  const table = HELD_AUDIT_NOTES.name;
  return {
    async keep(endpoint, value) {
      const note = parseAuditNote(value);
      if (!note) return;
      const text = JSON.stringify(note);
      const day = new Date(clock.now()).toISOString().slice(0, 10);
      await store.write((tx) => {
        tx.run(`INSERT OR IGNORE INTO ${table} (endpoint, slot, note) VALUES (?, ?, ?)`, endpoint, day, text);
        tx.run(`INSERT OR REPLACE INTO ${table} (endpoint, slot, note) VALUES (?, 'newest', ?)`, endpoint, text);
        tx.run(
          `DELETE FROM ${table} WHERE endpoint = ? AND slot IN
             (SELECT slot FROM ${table} WHERE endpoint = ? AND slot <> 'newest' ORDER BY slot DESC LIMIT -1 OFFSET ?)`,
          ...[endpoint, endpoint, MAX_HELD_DAYS],
        );
      });
    },
    of: (endpoint) =>
      store
        .all<{ note: string }>(`SELECT note FROM ${table} WHERE endpoint = ? ORDER BY slot`, endpoint)
        .flatMap(({ note }) => parseAuditNote(parseJson(note)) ?? []),
  };
}

/** Backups hold the end of the audit in their manifest. A damaged one is found by `carillon verify`. */
async function notesOfBackups(folder: string): Promise<KeptAuditNote[]> {
  const notes: KeptAuditNote[] = [];
  for (const { name } of await listBackups(folder)) {
    const label = isEncryptedName(name) ? readLabel(join(folder, name)) : null;
    if (label) {
      notes.push({ ...label.audit, at: Date.parse(label.takenAt), source: sentence("audit.kept-in-label", { name }) });
      continue;
    }
    const text = isEncryptedName(name) ? null : readManifestText(join(folder, name));
    if (text === null) continue;
    try {
      const { audit, takenAt } = parseManifest(text);
      notes.push({
        ...audit,
        at: Date.parse(takenAt),
        source: sentence("audit.kept-in-backup", { name: basename(name) }),
      });
    } catch {
      // As above.
    }
  }
  return notes;
}

/** The manifest is among the first members of the archive, so the rest is not read. @source POSIX.1-2017, pax, ustar */
function readManifestText(path: string): string | null {
  const file = openSync(path, "r");
  try {
    const header = Buffer.alloc(TAR_BLOCK_BYTES);
    for (let position = 0, members = 0; members < 10; members += 1) {
      if (readSync(file, header, 0, TAR_BLOCK_BYTES, position) < TAR_BLOCK_BYTES) return null;
      const name = header.toString("utf8", 0, 100).replace(/\0.*$/s, "");
      const size = Number.parseInt(header.toString("latin1", 124, 136), 8);
      if (!Number.isSafeInteger(size)) return null;
      position += TAR_BLOCK_BYTES;
      if (name === MANIFEST_FILE) {
        if (size > MAX_MANIFEST_BYTES) return null;
        const text = Buffer.alloc(size);
        readSync(file, text, 0, size, position);
        return text.toString("utf8");
      }
      position += Math.ceil(size / TAR_BLOCK_BYTES) * TAR_BLOCK_BYTES;
    }
    return null;
  } finally {
    closeSync(file);
  }
}

function readJson(path: string): unknown {
  return existsSync(path) ? parseJson(readFileSync(path, "utf8")) : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
