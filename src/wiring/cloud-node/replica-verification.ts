import type { TenantDatabase } from "../../ha/tenant-database.ts";
import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { RowImage, SharedLog } from "../../store/shared-log.ts";
import type { SharedCopy } from "../../store/store.ts";
import type { NodeProgress } from "./node-status.ts";

/** A table whose row counts differ between the replica (`here`) and the database (`there`). */
interface RowCountDifference {
  table: string;
  here: number;
  there: number;
}

export interface VerificationDeps {
  clock: Pick<Clock, "defer">;
  /** Called often with the progress. */
  onStatus(doing: NodeProgress): void;
}

/** Result: the replica is in sync, behind the database, or diverged (each has rows that the other lacks). */
export type ReplicaState = "whole" | "less" | "parted";

/**
 * Compares the leader's replica, which has replicated everything, with the database by row counts per table. Rows that the
 * database never got are uploaded, unless the database also has rows that the replica lacks: a node of an earlier version may
 * have uploaded only a part.
 * Only counts are compared, as comparing all rows would delay a failover. @source docs/decisions/0602-cloud-nodes.md, Verification
 */
export async function verifyReplica(
  tenant: TenantDatabase,
  replica: SharedCopy,
  { log, ...deps }: VerificationDeps & { log: Log },
): Promise<ReplicaState> {
  const differences = await rowCountDifferences(tenant, replica);
  if (differences.length === 0) return "whole";
  const { missing, hasUnknownRows } = await compareRows(tenant.log, replica, deps);
  log.warn(
    { event: "replica.differs", differences, rows: missing.length, hasUnknownRows },
    "database and replica differ",
  );
  const tables = replica.counts();
  // Tables of next keys may be ahead on either side.
  if (hasUnknownRows) return missing.some(({ table }) => tables.has(table)) ? "parted" : "less";
  log.warn(
    { event: "replica.uploading_missing_rows", rows: missing.length },
    "uploading rows that the database never got",
  );
  const named = new Set<string>();
  for (const row of missing) collectFileHashes(row, named);
  await uploadFiles(tenant, named, deps);
  // In one transaction: the rows may refer to each other.
  await publishRows(tenant, replica.position(), withProgress([missing], missing.length, deps));
  await replica.catchUp();
  return (await rowCountDifferences(tenant, replica)).length === 0 ? "whole" : "parted";
}

/**
 * Uploads all rows of a replica that was never shared as the first rows of the tenant, and the files that they name: first
 * the files one by one, then the rows in one transaction, one page in memory at a time. A node that takes over in between
 * finds none of them, never a part. Throws UpstreamError, also if another node wrote first.
 */
export async function uploadReplica(
  tenant: TenantDatabase,
  replica: SharedCopy,
  deps: VerificationDeps,
): Promise<void> {
  const named = new Set<string>();
  for (const page of replica.all()) {
    for (const row of page) collectFileHashes(row, named);
    // With many rows this takes long, and the supervisor of this process expects signs of life.
    await yieldToEventLoop(deps.clock);
  }
  await uploadFiles(tenant, named, deps);
  const of = [...replica.counts().values()].reduce((sum, rows) => sum + rows, 0);
  replica.setPosition(await publishRows(tenant, 0, withProgress(replica.all(), of, deps)));
}

function uploadFiles(
  { files }: TenantDatabase,
  named: ReadonlySet<string>,
  { onStatus }: VerificationDeps,
): Promise<void> {
  return files.putLocal(named, (done, of) => onStatus({ doing: "brings-files", done, of }));
}

function* withProgress(
  pages: Iterable<readonly RowImage[]>,
  of: number,
  { onStatus }: VerificationDeps,
): Generator<RowImage> {
  let done = 0;
  for (const page of pages) {
    onStatus({ doing: "brings-rows", done, of });
    yield* page;
    done += page.length;
  }
}

/** Appends rows of the replica to the tenant's log at position `at`; returns the position behind them. */
async function publishRows({ log }: TenantDatabase, at: number, rows: Iterable<RowImage>): Promise<number> {
  const lock = await log.acquireWriteLock(at);
  if (lock.at === at) return lock.publish(rows);
  await lock.release();
  throw new UpstreamError("starting", sentence("error.another-node-wrote-to-the-database-at-the-same-time"));
}

/** Every string that may be a file hash; others have no file in the folder. */
function collectFileHashes({ image }: RowImage, names: Set<string>): void {
  for (const [name] of image?.matchAll(/[0-9a-f]{64}/g) ?? []) names.add(name);
}

async function rowCountDifferences(tenant: TenantDatabase, replica: SharedCopy): Promise<RowCountDifference[]> {
  const counts = await tenant.countRows();
  // Tables that this version no longer has are ignored.
  return [...replica.counts()]
    .map(([table, here]) => ({ table, here, there: counts.get(table) ?? 0 }))
    .filter(({ here, there }) => here !== there);
}

/**
 * Rows of the replica that the database does not have, not even as tombstones, and whether the database has rows that the
 * replica lacks. Rows of both are held one page at a time; otherwise only keys are kept.
 */
async function compareRows(
  log: SharedLog,
  replica: SharedCopy,
  { clock, onStatus }: VerificationDeps,
): Promise<{ missing: RowImage[]; hasUnknownRows: boolean }> {
  const tables = replica.counts();
  const there = new Set<string>();
  let hasUnknownRows = false;
  for (let [at, more] = [0, true]; more; ) {
    const page = await log.readAfter(at);
    for (const row of page.rows) {
      there.add(rowKey(row));
      // Tables of next keys may be ahead in the database.
      if (!hasUnknownRows && tables.has(row.table))
        hasUnknownRows = !isSameRow(replica.find(row.table, row.key) ?? null, row.image);
    }
    [at, more] = [page.at, page.more];
    onStatus({ doing: "compares", done: at, of: replica.position() });
  }
  const missing: RowImage[] = [];
  for (const rows of replica.all()) {
    for (const row of rows) if (!there.has(rowKey(row))) missing.push(row);
    // Lets other tasks run, such as the watchdog of this process.
    await yieldToEventLoop(clock);
  }
  return { missing, hasUnknownRows };
}

const rowKey = ({ table, key }: RowImage): string => `${table} ${key}`;

/** Compares the columns that both have: versions differ in columns. */
function isSameRow(own: string | null, other: string | null): boolean {
  if (own === other) return true;
  if (own === null || other === null) return false;
  const [here, there] = [own, other].map((image) => JSON.parse(image) as Record<string, unknown>);
  return Object.entries(there ?? {}).every(
    ([name, value]) => !(here && name in here) || JSON.stringify(here[name]) === JSON.stringify(value),
  );
}
