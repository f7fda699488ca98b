import { getHeapStatistics } from "node:v8";
import { expect, it } from "vitest";
import { releaseMemory } from "../../../src/lib/release-memory.ts";

const MEBIBYTE = 1024 * 1024;

it("returns the pages of what a thread held to the system", () => {
  const committed = (): number => getHeapStatistics().total_physical_size / MEBIBYTE;
  releaseMemory();
  const before = committed();
  let held: object[] | null = Array.from({ length: 500_000 }, (_, at) => ({ name: `Person ${at}`, lists: [`${at}`] }));
  expect([held.length, committed() - before > 40]).toEqual([500_000, true]);
  held = null;
  releaseMemory();
  expect(committed() - before).toBeLessThan(20);
});

it("does not expose the collection to other code", () => {
  releaseMemory();
  expect(Reflect.get(globalThis, "gc")).toBeUndefined();
});
