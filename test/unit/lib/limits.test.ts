import { expect, it } from "vitest";
import { backoffMs } from "../../../src/lib/backoff.ts";
import { setBounded } from "../../../src/lib/bounded-map.ts";
import { createSemaphore } from "../../../src/lib/semaphore.ts";
import { createSerialQueue } from "../../../src/lib/serial-queue.ts";
import { fullBucket, takeToken } from "../../../src/lib/token-bucket.ts";

it("doubles the backoff up to its maximum", () => {
  expect([1, 2, 3, 4, 5_000].map((failures) => backoffMs(failures, 500, 3_000))).toEqual([
    500, 1_000, 2_000, 3_000, 3_000,
  ]);
});

it("evicts the entry that was set longest ago", () => {
  const map = new Map<string, number>();
  for (const key of ["a", "b", "a", "c"]) setBounded(map, key, 1, 2);
  expect([...map.keys()]).toEqual(["a", "c"]);
});

it("refills a token bucket up to its capacity", () => {
  const rate = { capacity: 2, perMs: 0.01 };
  const bucket = fullBucket(rate, 0);
  expect([0, 0, 0, 50, 100, 100_000, 100_000, 100_000].map((now) => takeToken(bucket, rate, now))).toEqual([
    0, 0, 100, 50, 0, 0, 0, 100,
  ]);
});

it("starts urgent waiting tasks first and refuses more than may wait", async () => {
  const limit = createSemaphore(1, 2);
  const started: string[] = [];
  const task = (name: string) => async () => void started.push(name);
  const all = [limit(task("first")), limit(task("second")), limit(task("urgent"), () => true)];
  await expect(limit(task("refused"))).rejects.toMatchObject({ name: "TooManyRequestsError" });
  await Promise.all(all);
  expect(started).toEqual(["first", "urgent", "second"]);
});

it("continues a serial queue after a failed task", async () => {
  const queue = createSerialQueue();
  const failed = queue.run(() => Promise.reject(new Error("failed")));
  const next = queue.run(async () => "next");
  await expect(failed).rejects.toThrow("failed");
  await expect(next).resolves.toBe("next");
  await queue.idle();
});
