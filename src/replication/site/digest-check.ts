import { bucketsOf, EMPTY, hashOf, shifted } from "../digests.ts";
import type { Digest } from "../frames.ts";
import { put, scan, type Work } from "../work.ts";
import { linkState } from "./link-state.ts";
import { BASE, LINK } from "./tables.ts";

/** A second difference within this time asks for all rows. @source replication.md 3, digests */
const AGAIN_WITHIN_MS = 24 * 3600_000;

/** Digests of a type's applied rows, part by part, counted anew: what was lost from the disk is missed. */
export function* ownBuckets(type: string): Work<{ applied: number; buckets: Digest[] }> {
  const { applied } = yield* linkState();
  return { applied, buckets: bucketsOf(type, yield* scan(BASE, { where: [type] })) };
}

/** Types in which this appliance differs from the cloud at the mark that was just applied. */
export function* differingTypes(types: readonly string[], theirs: Readonly<Record<string, Digest>>): Work<string[]> {
  const different: string[] = [];
  for (const type of types) {
    const rows = yield* scan(BASE, { where: [type] });
    const own = rows.reduce((sum, { id, seq }) => shifted(sum, hashOf(type, id, seq), 1), EMPTY);
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
