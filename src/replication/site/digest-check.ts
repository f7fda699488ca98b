import type { Clock } from "../../base/clock.ts";
import { bucketsOf, EMPTY, hashOf, shifted, together } from "../digests.ts";
import type { Digest } from "../frames.ts";
import { put, scan, type Work, type WorkStore } from "../work.ts";
import { linkState } from "./link-state.ts";
import { BASE, type BaseRow, LINK } from "./tables.ts";

/** A second difference within this time asks for all rows. @source replication.md 3, digests */
const AGAIN_WITHIN_MS = 24 * 3600_000;

/** Rows that are counted before others have their turn. own choice: some ms */
const AT_ONCE = 1_000;

/** What counting needs. */
export interface CountNeeds {
  store: Pick<WorkStore, "read">;
  clock: Pick<Clock, "after">;
  /** What is urgent is done now. */
  giveWay(): Promise<void>;
}

/** Reads the applied rows of a type in parts; they change in no other turn of the link than this one. */
async function* appliedRows({ store, clock, giveWay }: CountNeeds, type: string): AsyncGenerator<BaseRow[]> {
  for (let after = ""; ; await giveWay()) {
    const rows = await store.read(() => scan(BASE, { where: [type], after, limit: AT_ONCE }));
    yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < AT_ONCE) return;
    after = last.id;
    await new Promise<void>((over) => clock.after(0, over, { background: true }));
  }
}

/** Digests of a type's applied rows, part by part, counted anew: what was lost from the disk is missed. */
export async function ownBuckets(needs: CountNeeds, type: string): Promise<{ applied: number; buckets: Digest[] }> {
  const { applied } = await needs.store.read(linkState);
  let buckets = bucketsOf(type, []);
  for await (const rows of appliedRows(needs, type)) {
    const found = bucketsOf(type, rows);
    buckets = buckets.map((bucket, at) => together(bucket, found[at] ?? EMPTY));
  }
  return { applied, buckets };
}

/** Types in which this appliance differs from the cloud at the mark that was just applied. */
export async function differingTypes(
  needs: CountNeeds,
  types: readonly string[],
  theirs: Readonly<Record<string, Digest>>,
): Promise<string[]> {
  const different: string[] = [];
  for (const type of types) {
    let own = EMPTY;
    for await (const rows of appliedRows(needs, type)) {
      own = rows.reduce((sum, { id, seq }) => shifted(sum, hashOf(type, id, seq), 1), own);
    }
    const cloud = theirs[type] ?? EMPTY;
    if (own.count !== cloud.count || own.sum !== cloud.sum) different.push(type);
  }
  return different;
}

/** Notes that digests differed. True when it was so lately: then all rows are to come anew. */
export function* noteMismatch(now: number): Work<boolean> {
  const link = yield* linkState();
  const isAgain = link.mismatchAt !== null && now - link.mismatchAt < AGAIN_WITHIN_MS;
  // After a resync it begins with a repair again: rows that never fit must not come for ever.
  const noted = isAgain ? { mismatchAt: null, fresh: 1 } : { mismatchAt: now };
  yield* put(LINK, { ...link, ...noted });
  return isAgain;
}
