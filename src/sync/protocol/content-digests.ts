import type { AnyResource } from "../../schema/resource.ts";
import type { RowBody } from "../storage/transaction-program.ts";
import { valueHash } from "./field-merge.ts";
import type { Digest } from "./frames.ts";
import type { ReplicatedTypes } from "./replicated-types.ts";
import { adjustDigest, bucketIndex, EMPTY_DIGEST, rowVersionHash, sumDigests } from "./row-digests.ts";
import { mayHaveSecrets } from "./secret-marks.ts";

/** A bucket in which a type has rows: the count, and the sum of the hashes of their contents. */
export type BucketDigest = readonly [bucket: number, count: number, sum: number];

/** What one side has of a type: digests of the versions of its rows and, by bucket, of their contents. */
export interface RowInventory {
  versions: Digest;
  buckets: readonly BucketDigest[];
}

/** A row of a bucket: its version, and a hash of each compared field; null if the row is missing. */
export type InventoryRow = readonly [id: string, seq: number, hashes: Readonly<Record<string, string>> | null];

/** Fields whose values are equal on both sides: without those that each side keeps to itself. */
export function comparedFields(resource: AnyResource, types: ReplicatedTypes): string[] {
  const own = Object.entries(resource.fields).flatMap(([name, field]) => {
    if (field.kind === "secret" || field.kind === "computed" || LOCAL_VALUES.has(name)) return [];
    // Free JSON may hold secrets, which each side encrypts with its own key.
    if (field.kind === "json" && mayHaveSecrets(resource)) return [];
    const isLocal =
      (field.kind === "ref" || field.kind === "many") &&
      !types.references(resource.name).some((reference) => reference.name === name);
    return isLocal ? [] : [name];
  });
  return resource.scope === "domain" ? ["domainId", ...own] : own;
}

const LOCAL_VALUES: ReadonlySet<string> = new Set(["lastUsedAt", "lastUsedAddress", "loadSourceId"]);

/** Hash of each compared field. The order of lists of ids has no meaning. */
export function fieldHashes(
  body: RowBody | null,
  fields: readonly string[],
  idLists: ReadonlySet<string>,
): Record<string, string> | null {
  return body && Object.fromEntries(fields.map((name) => [name, valueHash(comparedValue(body, name, idLists))]));
}

function comparedValue(body: RowBody, name: string, idLists: ReadonlySet<string>): unknown {
  const value = body[name] ?? null;
  return idLists.has(name) ? [...((value ?? []) as string[])].sort() : value;
}

/** Sums the rows of a type up, in any order. */
export function createInventory(type: string): {
  add(id: string, seq: number, hashes: Readonly<Record<string, string>> | null): void;
  result(): RowInventory;
} {
  let versions = EMPTY_DIGEST;
  const buckets = new Map<number, Digest>();
  return {
    add(id, seq, hashes) {
      versions = adjustDigest(versions, rowVersionHash(type, id, seq), 1);
      const content = { count: 1, sum: rowVersionHash(type, `${id}|${valueHash(hashes)}`, 0) };
      const bucket = bucketIndex(id);
      buckets.set(bucket, sumDigests(buckets.get(bucket) ?? EMPTY_DIGEST, content));
    },
    result: () => ({ versions, buckets: [...buckets].map(([bucket, { count, sum }]) => [bucket, count, sum]) }),
  };
}

/** Buckets in which two sides differ. */
export function unequalBuckets(ours: RowInventory, theirs: RowInventory): number[] {
  const text = ([bucket, count, sum]: BucketDigest): string => `${bucket} ${count} ${sum}`;
  const [here, there] = [new Set(ours.buckets.map(text)), new Set(theirs.buckets.map(text))];
  const different = [
    ...ours.buckets.filter((each) => !there.has(text(each))),
    ...theirs.buckets.filter((each) => !here.has(text(each))),
  ];
  return [...new Set(different.map(([bucket]) => bucket))].sort((a, b) => a - b);
}
