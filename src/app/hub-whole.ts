import { type Clock, nextTurn } from "../base/clock.ts";
import { UpstreamError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Organisation } from "../replication/hub/postgres/organisation.ts";
import type { RowImage, SharedLog } from "../store/shared-log.ts";
import type { SharedCopy } from "../store/store.ts";
import type { NodeWork } from "./hub-doing.ts";

/** What a copy and the database have of a table that they do not have as many rows of. */
interface Difference {
  table: string;
  here: number;
  there: number;
}

/** What bringing and comparing need. */
export interface WholeNeeds {
  clock: Pick<Clock, "soon">;
  /** Told how far it is, often. */
  onDoing(doing: NodeWork): void;
}

/** How a copy stands to the database: it has all that this has, or less, or each has what the other has not. */
export type Wholeness = "whole" | "less" | "parted";

/**
 * Compares the acting node's copy, which has all up to the database's last row, with the database by how many rows each
 * table has. Rows that the database never got are brought to it, where it has nothing else that the copy has not: a node of
 * an earlier version may have brought a part of what it had.
 * own choice: rows are counted, as comparing all would make whoever takes over wait
 */
export async function makeWhole(
  organisation: Organisation,
  copy: SharedCopy,
  { log, ...needs }: WholeNeeds & { log: Log },
): Promise<Wholeness> {
  const differ = await differences(organisation, copy);
  if (differ.length === 0) return "whole";
  const { missing, isMore } = await compare(organisation.log, copy, needs);
  log.warn({ differ, rows: missing.length, isMore }, "the organisation's database and the copy differ");
  const tables = copy.counts();
  // Of the keys that tables would give next, either may know others.
  if (isMore) return missing.some(({ table }) => tables.has(table)) ? "parted" : "less";
  log.warn({ rows: missing.length }, "rows that the organisation's database never got are brought to it");
  const named = new Set<string>();
  for (const row of missing) addNames(row, named);
  await keepFiles(organisation, named, needs);
  // In one transaction: they may refer to each other.
  await give(organisation, copy.at(), counted([missing], missing.length, needs));
  await copy.catchUp();
  return (await differences(organisation, copy)).length === 0 ? "whole" : "parted";
}

/**
 * Makes all rows of a copy that was never shared the first ones of the organisation, with the files that they name: the
 * files first, one by one, then the rows in one transaction, of which a page is held at a time. Whoever takes over meanwhile
 * finds none of them, never a part. Throws UpstreamError, also where somebody else wrote first.
 */
export async function giveAll(organisation: Organisation, copy: SharedCopy, needs: WholeNeeds): Promise<void> {
  const named = new Set<string>();
  for (const page of copy.all()) {
    for (const row of page) addNames(row, named);
    // Of many rows it takes long, and whoever supervises this process wants to hear of it.
    await nextTurn(needs.clock);
  }
  await keepFiles(organisation, named, needs);
  const of = [...copy.counts().values()].reduce((sum, rows) => sum + rows, 0);
  copy.note(await give(organisation, 0, counted(copy.all(), of, needs)));
}

function keepFiles({ files }: Organisation, named: ReadonlySet<string>, { onDoing }: WholeNeeds): Promise<void> {
  return files.keepHere(named, (done, of) => onDoing({ doing: "brings-files", done, of }));
}

function* counted(pages: Iterable<readonly RowImage[]>, of: number, { onDoing }: WholeNeeds): Generator<RowImage> {
  let done = 0;
  for (const page of pages) {
    onDoing({ doing: "brings-rows", done, of });
    yield* page;
    done += page.length;
  }
}

/** Makes rows of the copy the organisation's behind what it has of this; the position behind them. */
async function give({ log }: Organisation, at: number, rows: Iterable<RowImage>): Promise<number> {
  const turn = await log.begin(at);
  if (turn.at === at) return turn.publish(rows);
  await turn.release();
  throw new UpstreamError("starting", "Another node wrote to the organisation's database meanwhile.");
}

/** Whatever may be a file: what is none is not in the folder. */
function addNames({ image }: RowImage, names: Set<string>): void {
  for (const [name] of image?.matchAll(/[0-9a-f]{64}/g) ?? []) names.add(name);
}

async function differences(organisation: Organisation, copy: SharedCopy): Promise<Difference[]> {
  const counts = await organisation.counts();
  // Tables that this version does not have any more are left as they are.
  return [...copy.counts()]
    .map(([table, here]) => ({ table, here, there: counts.get(table) ?? 0 }))
    .filter(({ here, there }) => here !== there);
}

/**
 * Rows of the copy of which the database has nothing, not even that they are gone; and whether it has what the copy has not.
 * Of what both have a page is held at a time, and otherwise its name.
 */
async function compare(
  log: SharedLog,
  copy: SharedCopy,
  { clock, onDoing }: WholeNeeds,
): Promise<{ missing: RowImage[]; isMore: boolean }> {
  const tables = copy.counts();
  const there = new Set<string>();
  let isMore = false;
  for (let [at, more] = [0, true]; more; ) {
    const news = await log.news(at);
    for (const row of news.rows) {
      there.add(nameOf(row));
      // Of the keys that tables would give next, the database may well know higher ones.
      if (!isMore && tables.has(row.table)) isMore = !isSame(copy.find(row.table, row.key) ?? null, row.image);
    }
    [at, more] = [news.at, news.more];
    onDoing({ doing: "compares", done: at, of: copy.at() });
  }
  const missing: RowImage[] = [];
  for (const rows of copy.all()) {
    for (const row of rows) if (!there.has(nameOf(row))) missing.push(row);
    // Others have their turn, whoever supervises this process among them.
    await nextTurn(clock);
  }
  return { missing, isMore };
}

const nameOf = ({ table, key }: RowImage): string => `${table} ${key}`;

/** In all columns that both have: versions differ in them. */
function isSame(own: string | null, other: string | null): boolean {
  if (own === other) return true;
  if (own === null || other === null) return false;
  const [here, there] = [own, other].map((image) => JSON.parse(image) as Record<string, unknown>);
  return Object.entries(there ?? {}).every(
    ([name, value]) => !(here && name in here) || JSON.stringify(here[name]) === JSON.stringify(value),
  );
}
