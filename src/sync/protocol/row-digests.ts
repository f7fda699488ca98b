import { createHash } from "node:crypto";
import type { Digest } from "./frames.ts";

/** Modulus of the sums; low enough that adding two stays exact. */
const MODULUS = 2 ** 48;
/** Number of buckets that a type's rows are split into to locate a difference. */
const BUCKETS = 256;

export const EMPTY_DIGEST: Digest = { count: 0, sum: 0 };

/** Contribution of one row version to its type's sum: the first six bytes of the SHA-256 of `type|id|seq`. */
export function rowVersionHash(type: string, id: string, seq: number): number {
  return createHash("sha256").update(`${type}|${id}|${seq}`).digest().readUIntBE(0, 6);
}

/** Bucket of a row, by the first byte of the SHA-256 of its id. */
export function bucketIndex(id: string): number {
  return createHash("sha256").update(id).digest().readUInt8(0);
}

/** Adds (`1`) or subtracts (`-1`) one row. */
export function adjustDigest({ count, sum }: Digest, hash: number, by: 1 | -1): Digest {
  return { count: count + by, sum: (sum + by * hash + MODULUS) % MODULUS };
}

export function sumDigests(a: Digest, b: Digest): Digest {
  return { count: a.count + b.count, sum: (a.sum + b.sum) % MODULUS };
}

/** Digest of each bucket of a type. */
export function bucketDigests(type: string, rows: readonly { id: string; seq: number }[]): Digest[] {
  const buckets = Array.from({ length: BUCKETS }, () => EMPTY_DIGEST);
  for (const { id, seq } of rows) {
    const at = bucketIndex(id);
    buckets[at] = adjustDigest(buckets[at] ?? EMPTY_DIGEST, rowVersionHash(type, id, seq), 1);
  }
  return buckets;
}

/** Indexes of the buckets in which two sides differ. */
export function differingBuckets(ours: readonly Digest[], theirs: readonly Digest[]): number[] {
  return ours.flatMap(({ count, sum }, at) => (theirs[at]?.count === count && theirs[at]?.sum === sum ? [] : [at]));
}
