import { expect, it } from "vitest";
import { createReplica } from "../../../src/store/replica.ts";
import type { RowImages } from "../../../src/store/row-images.ts";
import type { LogPage, RowImage, SharedLog } from "../../../src/store/shared-log.ts";

/** Rows in one answer of `pagedLog`. */
const PAGE = 2;

/** A log of so many rows that gives them a page at a time; what was done with its turns, in order. */
function pagedLog(count: number) {
  const rows = Array.from({ length: count }, (_, n): RowImage => ({ table: "users", key: `[${n + 1}]`, image: "{}" }));
  const after = (at: number): LogPage => {
    const page = rows.slice(at, at + PAGE);
    return { rows: page, at: at + page.length, more: page.length === PAGE };
  };
  const turns: string[] = [];
  const log: SharedLog = {
    async acquireWriteLock(at) {
      const { rows: missedRows, more } = after(at);
      turns.push(more ? "begun too far behind" : "begun");
      return {
        missedRows,
        more,
        at: count,
        publish: async () => count,
        release: async () => void turns.push("released"),
      };
    },
    readAfter: async (at) => after(at),
    storeFile: async () => undefined,
    isReachable: () => true,
  };
  return { log, turns };
}

/** A copy that notes how many rows were written to it at once, and up to where it went each time. */
function copy() {
  const applied: { rows: number; at: number }[] = [];
  const images = {
    position: () => applied.at(-1)?.at ?? 0,
    apply: (rows: readonly RowImage[], at: number) => void applied.push({ rows: rows.length, at }),
  } as Partial<RowImages> as RowImages;
  return { images, applied };
}

it("catches up page by page before it acquires the write lock", async () => {
  const { log, turns } = pagedLog(5);
  const { images, applied } = copy();
  await createReplica(log, images, () => undefined).beginWrite();
  expect(applied).toEqual([
    { rows: 2, at: 2 },
    { rows: 2, at: 4 },
    { rows: 1, at: 5 },
  ]);
  expect(turns).toEqual(["begun too far behind", "released", "begun"]);
});

it("never overwrites newer rows with an older page", async () => {
  const { log } = pagedLog(3);
  const { images, applied } = copy();
  let answer = (): void => undefined;
  const late: SharedLog = {
    ...log,
    async readAfter(at) {
      const news = await log.readAfter(at);
      if (at === 0) await new Promise<void>((resolve) => (answer = resolve));
      return news;
    },
    acquireWriteLock: async () => ({ ...(await log.acquireWriteLock(1)), more: false }),
  };
  const replica = createReplica(late, images, () => undefined);
  const caughtUp = replica.catchUp();
  await Promise.resolve();
  await replica.beginWrite();
  answer();
  await caughtUp;
  expect(applied).toEqual([{ rows: 2, at: 3 }]);
});

it("releases the write lock when applying the rows of others fails", async () => {
  let released = 0;
  const log: SharedLog = {
    acquireWriteLock: async () => ({
      missedRows: [{ table: "users", key: "[1]", image: "{}" }],
      at: 1,
      more: false,
      publish: async () => 1,
      release: async () => void released++,
    }),
    readAfter: async () => ({ rows: [], at: 0, more: false }),
    storeFile: async () => undefined,
    isReachable: () => true,
  };
  const images = {
    position: () => 0,
    apply() {
      throw new Error("the disk failed");
    },
  } as Partial<RowImages> as RowImages;
  await expect(createReplica(log, images, () => undefined).beginWrite()).rejects.toThrow("the disk failed");
  expect(released).toBe(1);
});
