import { createHash } from "node:crypto";
import type { Digest } from "./frames.ts";

/** Sums are kept below this, so that adding two stays exact. */
const MODULUS = 2 ** 48;
/** How many parts a type's rows are split into to find where two sides differ. */
const BUCKETS = 256;

/** The digest of no rows. */
export const EMPTY_DIGEST: Digest = { count: 0, sum: 0 };

/** What one version of one row adds to its type's sum: the first six bytes of a SHA-256. */
export function rowVersionHash(type: string, id: string, seq: number): number {
  return createHash("sha256").update(`${type}|${id}|${seq}`).digest().readUIntBE(0, 6);
}

/** In which of the parts a row lies. */
export function bucketIndex(id: string): number {
  return createHash("sha256").update(id).digest().readUInt8(0);
}

/** Adds (`1`) or takes away (`-1`) one row. */
export function adjustDigest({ count, sum }: Digest, hash: number, by: 1 | -1): Digest {
  return { count: count + by, sum: (sum + by * hash + MODULUS) % MODULUS };
}

/** The digest of both. */
export function sumDigests(a: Digest, b: Digest): Digest {
  return { count: a.count + b.count, sum: (a.sum + b.sum) % MODULUS };
}

/** Digests of a type's rows, part by part. */
export function bucketDigests(type: string, rows: readonly { id: string; seq: number }[]): Digest[] {
  const buckets = Array.from({ length: BUCKETS }, () => EMPTY_DIGEST);
  for (const { id, seq } of rows) {
    const at = bucketIndex(id);
    buckets[at] = adjustDigest(buckets[at] ?? EMPTY_DIGEST, rowVersionHash(type, id, seq), 1);
  }
  return buckets;
}

/** Numbers of the parts in which two sides differ. */
export function differingBuckets(ours: readonly Digest[], theirs: readonly Digest[]): number[] {
  return ours.flatMap(({ count, sum }, at) => (theirs[at]?.count === count && theirs[at]?.sum === sum ? [] : [at]));
}
