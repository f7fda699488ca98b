import type { TenantDatabase } from "../../ha/tenant-database.ts";
import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { RowImage, SharedLog } from "../../store/shared-log.ts";
import type { SharedCopy } from "../../store/store.ts";
import type { NodeProgress } from "./node-status.ts";

/** What a copy and the database have of a table that they do not have as many rows of. */
interface RowCountDifference {
  table: string;
  here: number;
  there: number;
}

/** What bringing and comparing need. */
export interface VerificationDeps {
  clock: Pick<Clock, "defer">;
  /** Told how far it is, often. */
  onStatus(doing: NodeProgress): void;
}

/** How a copy stands to the database: it has all that this has, or less, or each has what the other has not. */
export type ReplicaState = "whole" | "less" | "parted";

/**
 * Compares the acting node's copy, which has all up to the database's last row, with the database by how many rows each
 * table has. Rows that the database never got are brought to it, where it has nothing else that the copy has not: a node of
 * an earlier version may have brought a part of what it had.
 * own choice: rows are counted, as comparing all would make whoever takes over wait
 */
export async function verifyReplica(
  organisation: TenantDatabase,
  copy: SharedCopy,
  { log, ...needs }: VerificationDeps & { log: Log },
): Promise<ReplicaState> {
  const differ = await rowCountDifferences(organisation, copy);
  if (differ.length === 0) return "whole";
  const { missing, isMore } = await compareRows(organisation.log, copy, needs);
  log.warn({ differ, rows: missing.length, isMore }, "the organisation's database and the copy differ");
  const tables = copy.counts();
  // Of the keys that tables would give next, either may know others.
  if (isMore) return missing.some(({ table }) => tables.has(table)) ? "parted" : "less";
  log.warn({ rows: missing.length }, "rows that the organisation's database never got are brought to it");
  const named = new Set<string>();
  for (const row of missing) collectFileHashes(row, named);
  await uploadFiles(organisation, named, needs);
  // In one transaction: they may refer to each other.
  await publishRows(organisation, copy.position(), withProgress([missing], missing.length, needs));
  await copy.catchUp();
  return (await rowCountDifferences(organisation, copy)).length === 0 ? "whole" : "parted";
}

/**
 * Makes all rows of a copy that was never shared the first ones of the organisation, with the files that they name: the
 * files first, one by one, then the rows in one transaction, of which a page is held at a time. Whoever takes over meanwhile
 * finds none of them, never a part. Throws UpstreamError, also where somebody else wrote first.
 */
export async function uploadReplica(
  organisation: TenantDatabase,
  copy: SharedCopy,
  needs: VerificationDeps,
): Promise<void> {
  const named = new Set<string>();
  for (const page of copy.all()) {
    for (const row of page) collectFileHashes(row, named);
    // Of many rows it takes long, and whoever supervises this process wants to hear of it.
    await yieldToEventLoop(needs.clock);
  }
  await uploadFiles(organisation, named, needs);
  const of = [...copy.counts().values()].reduce((sum, rows) => sum + rows, 0);
  copy.setPosition(await publishRows(organisation, 0, withProgress(copy.all(), of, needs)));
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

/** Makes rows of the copy the organisation's behind what it has of this; the position behind them. */
async function publishRows({ log }: TenantDatabase, at: number, rows: Iterable<RowImage>): Promise<number> {
  const turn = await log.acquireWriteLock(at);
  if (turn.at === at) return turn.publish(rows);
  await turn.release();
  throw new UpstreamError("starting", "Another node wrote to the organisation's database meanwhile.");
}

/** Whatever may be a file: what is none is not in the folder. */
function collectFileHashes({ image }: RowImage, names: Set<string>): void {
  for (const [name] of image?.matchAll(/[0-9a-f]{64}/g) ?? []) names.add(name);
}

async function rowCountDifferences(organisation: TenantDatabase, copy: SharedCopy): Promise<RowCountDifference[]> {
  const counts = await organisation.countRows();
  // Tables that this version does not have any more are left as they are.
  return [...copy.counts()]
    .map(([table, here]) => ({ table, here, there: counts.get(table) ?? 0 }))
    .filter(({ here, there }) => here !== there);
}

/**
 * Rows of the copy of which the database has nothing, not even that they are gone; and whether it has what the copy has not.
 * Of what both have a page is held at a time, and otherwise its name.
 */
async function compareRows(
  log: SharedLog,
  copy: SharedCopy,
  { clock, onStatus }: VerificationDeps,
): Promise<{ missing: RowImage[]; isMore: boolean }> {
  const tables = copy.counts();
  const there = new Set<string>();
  let isMore = false;
  for (let [at, more] = [0, true]; more; ) {
    const news = await log.readAfter(at);
    for (const row of news.rows) {
      there.add(rowKey(row));
      // Of the keys that tables would give next, the database may well know higher ones.
      if (!isMore && tables.has(row.table)) isMore = !isSameRow(copy.find(row.table, row.key) ?? null, row.image);
    }
    [at, more] = [news.at, news.more];
    onStatus({ doing: "compares", done: at, of: copy.position() });
  }
  const missing: RowImage[] = [];
  for (const rows of copy.all()) {
    for (const row of rows) if (!there.has(rowKey(row))) missing.push(row);
    // Others have their turn, whoever supervises this process among them.
    await yieldToEventLoop(clock);
  }
  return { missing, isMore };
}

const rowKey = ({ table, key }: RowImage): string => `${table} ${key}`;

/** In all columns that both have: versions differ in them. */
function isSameRow(own: string | null, other: string | null): boolean {
  if (own === other) return true;
  if (own === null || other === null) return false;
  const [here, there] = [own, other].map((image) => JSON.parse(image) as Record<string, unknown>);
  return Object.entries(there ?? {}).every(
    ([name, value]) => !(here && name in here) || JSON.stringify(here[name]) === JSON.stringify(value),
  );
}
