import { bucketOf, bucketsOf, differing, EMPTY, together } from "../digests.ts";
import type { Digest, DownRow } from "../frames.ts";
import { scan, type Work, type WorkStore } from "../work.ts";
import { type Cursor, holds, linkOf } from "./down-feed.ts";
import { head } from "./publish.ts";
import { type FeedRow, ROWS } from "./tables.ts";

/** What an appliance says of the rows of a type that it has, part by part. */
interface Asked {
  applied: number;
  type: string;
  buckets: readonly Digest[];
}

/** What comparing needs. */
export interface RepairNeeds {
  store: Pick<WorkStore, "read">;
  /** Others have their turn. */
  giveWay(): Promise<void>;
}

/** Rows that are read before others have their turn. own choice: some ms */
const AT_ONCE = 200;

/**
 * Rows of those parts of a type in which an appliance differs; null when it does not stand at the head, or does not any
 * more before all were read. Throws CallerError for a connection that a newer one has taken the place of.
 */
export async function repairRows(
  { store, giveWay }: RepairNeeds,
  cursor: Cursor,
  asked: Asked,
): Promise<{ buckets: number[]; rows: DownRow[] } | null> {
  let ours = bucketsOf(asked.type, []);
  const parts = ours.map((): DownRow[] => []);
  for (let after = ""; ; await giveWay()) {
    const from = after;
    const read = await store.read(() => liveRows(cursor, asked, from));
    if (!read) return null;
    const found = bucketsOf(asked.type, read.rows);
    ours = ours.map((part, at) => together(part, found[at] ?? EMPTY));
    for (const { type, id, seq, body } of read.rows) parts[bucketOf(id)]?.push(["p", type, id, seq, body ?? {}]);
    if (read.last === null) break;
    after = read.last;
  }
  const buckets = differing(ours, asked.buckets);
  return { buckets, rows: buckets.flatMap((part) => parts[part] ?? []) };
}

/** Live rows that an appliance is to have, after an id; `last` is where to go on, null at the end. */
function* liveRows(
  cursor: Cursor,
  { applied, type }: Asked,
  after: string,
): Work<{ rows: FeedRow[]; last: string | null } | null> {
  const { seq } = yield* head();
  if (applied !== seq || cursor.at !== seq) return null;
  const link = yield* linkOf(cursor);
  const found = yield* scan(ROWS, { by: "live", where: [type, 0], after, limit: AT_ONCE });
  const last = found.length < AT_ONCE ? null : (found.at(-1)?.id ?? null);
  return { rows: found.filter(({ scope }) => holds(link, scope)), last };
}
