import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { WAL_FRAME_HEADER_BYTES, WAL_HEADER_BYTES } from "../../src/store/wal-checkpoint.ts";
import { seededRandom } from "../../src/tools/simulator/seeded-random.ts";

/** Something that was done to a file, with the place in the log behind it. */
interface Deed {
  kind: "w" | "t" | "s" | "u";
  name: string;
  at: number;
  data: Buffer;
  end: number;
}

/** A create that was answered when the log was so long. */
export interface AcknowledgedCreate {
  resource: "users" | "notifications";
  id: string;
  logBytes: number;
}

/** What the disk held after a cut in the middle of messages. */
export interface MidMessageCut {
  files: ReadonlyMap<string, Buffer>;
  /** Ids of the messages that stood between their stages: nobody need have been answered by then. */
  messages: readonly string[];
}

/** What cuts of the power came to. */
export interface Cuts {
  cuts: number;
  /** Cuts after which a create that had been answered was gone. */
  losing: number;
  /**
   * Cuts after which SQLite found the file broken, a row without its line of the audit, or a message further than what its
   * stages wrote before: what waits for no disk may be missing from its end alone.
   */
  corrupt: number;
  /** The first of those that left a message between its stages, at most as many as were asked for. */
  midway: MidMessageCut[];
}

/** Of a write that nobody asked the disk to keep, power leaves all, nothing, or some of its sectors. */
const SECTOR = 512;
const HEAD = 24;

/** The records that the shim wrote. @source disk-shim.c */
export function parseOperations(log: Buffer): Deed[] {
  const deeds: Deed[] = [];
  for (let from = 0; from + HEAD <= log.length; ) {
    const kind = String.fromCharCode(log.readUInt32LE(from)) as Deed["kind"];
    const [nameAt, dataAt] = [from + HEAD, from + HEAD + log.readUInt32LE(from + 4)];
    const end = dataAt + Number(log.readBigUInt64LE(from + 16));
    const name = log.toString("utf8", nameAt, dataAt);
    deeds.push({ kind, name, at: Number(log.readBigUInt64LE(from + 8)), data: log.subarray(dataAt, end), end });
    from = end;
  }
  return deeds;
}

/** A file as the disk holds it; `bytes` may be longer than the file. */
interface Image {
  bytes: Buffer;
  size: number;
}

/**
 * Cuts the power `cuts` times at moments that follow from `seed`: the files of `before` are brought to what the disk held
 * then, opened by SQLite in `folder` and searched for what had been answered. `isLazy` takes the disk as asked to keep the
 * log only when its pages go into the database, as SQLite's `synchronous=NORMAL` does, which must show losses.
 */
export function cutPower(
  plan: {
    before: ReadonlyMap<string, Buffer>;
    deeds: readonly Deed[];
    answered: readonly AcknowledgedCreate[];
    folder: string;
    /** Devices that each message goes to. */
    devices: number;
  },
  { cuts, seed, isLazy = false, midway = 0 }: { cuts: number; seed: number; isLazy?: boolean; midway?: number },
): Cuts {
  const { before, deeds, answered, folder, devices } = plan;
  const result: Cuts = { cuts: 0, losing: 0, corrupt: 0, midway: [] };
  // Moments in order, so that what was kept for good is brought forward once.
  const moments = Array.from({ length: cuts }, (_, at) => Math.floor(seededRandom(seed, at) * deeds.length)).sort(
    (a, b) => a - b,
  );
  const kept = new Map(
    [...before].map(([name, bytes]): [string, Image] => [name, { bytes: Buffer.from(bytes), size: bytes.length }]),
  );
  let open: Deed[] = [];
  let done = 0;
  for (const [number, moment] of moments.entries()) {
    for (; done < moment; done++) open = advance(kept, open, deeds, done, isLazy);
    const left = new Map([...kept].map(([name, { bytes, size }]) => [name, { bytes: Buffer.from(bytes), size }]));
    for (const [at, deed] of open.entries()) endure(left, deed, seededRandom(seed, number, at));
    const upTo = deeds[moment - 1]?.end ?? 0;
    const due = answered.filter(({ logBytes }) => logBytes <= upTo);
    const { isWhole, lost, between } = look(left, folder, due, devices);
    result.cuts += 1;
    if (!isWhole) result.corrupt += 1;
    if (lost > 0) result.losing += 1;
    if (between.length > 0 && result.midway.length < midway) {
      result.midway.push({ files: bytesOf(left), messages: between });
    }
  }
  return result;
}

/** What is still open after a deed; a sync keeps all that was done to its file. */
function advance(kept: Map<string, Image>, open: Deed[], deeds: readonly Deed[], at: number, isLazy: boolean): Deed[] {
  const deed = deeds[at] as Deed;
  if (deed.kind !== "s") return [...open, deed];
  const isOfLog = deed.name.endsWith("-wal") && deeds[at + 1]?.name !== deed.name.slice(0, -"-wal".length);
  if (isLazy && isOfLog) return open;
  for (const each of open) if (each.name === deed.name) endure(kept, each, 1);
  return open.filter(({ name }) => name !== deed.name);
}

/** Does to the files what power left of a deed: all for luck above two thirds, nothing below one. */
function endure(files: Map<string, Image>, { kind, name, at, data }: Deed, luck: number): void {
  if (luck < 1 / 3) return;
  const image = files.get(name) ?? { bytes: Buffer.alloc(0), size: 0 };
  if (kind === "u") files.delete(name);
  else if (kind === "t") files.set(name, resized(image, at));
  else {
    const next = resized(image, Math.max(image.size, at + data.length));
    const step = luck > 2 / 3 ? data.length : SECTOR;
    const stride = luck > 2 / 3 ? data.length : 2 * SECTOR;
    for (let from = 0; from < data.length; from += stride) data.copy(next.bytes, at + from, from, from + step);
    files.set(name, next);
  }
}

function resized({ bytes, size }: Image, wanted: number): Image {
  if (wanted < size) bytes.fill(0, wanted, size);
  if (wanted <= bytes.length) return { bytes, size: wanted };
  return { bytes: Buffer.concat([bytes], Math.ceil(wanted * 1.5)), size: wanted };
}

function bytesOf(files: ReadonlyMap<string, Image>): Map<string, Buffer> {
  const ofDatabase = ["carillon.db", "carillon.db-wal"].map((name): [string, Buffer] => {
    const { bytes, size } = files.get(name) ?? { bytes: Buffer.alloc(0), size: 0 };
    return [name, bytes.subarray(0, size)];
  });
  return new Map(ofDatabase);
}

/** Messages of which something is there without what was written before it: first the devices, then the stage, then the ledger. */
const TORN = `SELECT count(*) FROM notifications n
  WHERE (SELECT count(*) FROM notification_targets WHERE notification = n.pk)
    + (SELECT count(*) FROM deliveries WHERE notification_pk = n.pk) <> CASE n.stage WHEN 'resolve' THEN 0 ELSE ? END`;

const BETWEEN = "SELECT id FROM notifications WHERE stage IN ('resolve', 'partition', 'prepare', 'queue')";

function look(
  files: ReadonlyMap<string, Image>,
  folder: string,
  due: readonly AcknowledgedCreate[],
  devices: number,
): { isWhole: boolean; lost: number; between: readonly string[] } {
  for (const [name, bytes] of bytesOf(files)) writeFileSync(join(folder, name), bytes);
  try {
    const db = new Database(join(folder, "carillon.db"));
    db.pragma("locking_mode = EXCLUSIVE");
    const one = (sql: string, ...params: number[]): unknown =>
      db
        .prepare(sql)
        .pluck()
        .get(...params);
    const idsOf = (table: AcknowledgedCreate["resource"]): Set<string> =>
      new Set(db.prepare(`SELECT id FROM ${table}`).pluck().all() as string[]);
    const ids = { users: idsOf("users"), notifications: idsOf("notifications") };
    const halves = (["users", "notifications"] as const).map((table) =>
      one(
        `SELECT count(*) FROM ${table} WHERE id NOT IN (SELECT row_id FROM audit_entries WHERE resource = '${table}')`,
      ),
    );
    const isWhole =
      db.pragma("integrity_check", { simple: true }) === "ok" &&
      halves.every((count) => count === 0) &&
      one(TORN, devices) === 0;
    const between = db.prepare(BETWEEN).pluck().all() as string[];
    db.close();
    return { isWhole, lost: due.filter(({ resource, id }) => !ids[resource].has(id)).length, between };
  } catch {
    return { isWhole: false, lost: due.length, between: [] };
  }
}

/** COMMITs after which more was written to the log without asking the disk to keep it first. @source sqlite.org/fileformat2.html, 4.1 */
export function unsyncedOperations(deeds: readonly Deed[]): number {
  let [count, isOpen] = [0, false];
  for (const { kind, name, at, data } of deeds) {
    if (!name.endsWith("-wal")) continue;
    if (kind === "s") isOpen = false;
    if (kind !== "w" || at < WAL_HEADER_BYTES || data.length !== WAL_FRAME_HEADER_BYTES) continue;
    if (isOpen) count += 1;
    isOpen = data.readUInt32BE(4) !== 0;
  }
  return count;
}

/** The database's files as they lie in a folder. */
export function readDataFiles(dataDir: string): Map<string, Buffer> {
  return new Map([["carillon.db", readFileSync(join(dataDir, "carillon.db"))]]);
}
