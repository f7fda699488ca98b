import { expect, it } from "vitest";
import { createReplica } from "../../../src/store/replica.ts";
import type { RowImages } from "../../../src/store/row-images.ts";
import type { SharedLog } from "../../../src/store/shared-log.ts";

it("gives the right to write back when what others wrote can't be taken", async () => {
  let released = 0;
  const log: SharedLog = {
    begin: async () => ({
      news: [{ table: "users", key: "[1]", image: "{}" }],
      at: 1,
      publish: async () => 1,
      release: async () => void released++,
    }),
    news: async () => ({ rows: [], at: 0, more: false }),
    keepFile: async () => undefined,
    isHeard: () => true,
  };
  const images = {
    at: () => 0,
    apply() {
      throw new Error("the disk failed");
    },
  } as Partial<RowImages> as RowImages;
  await expect(createReplica(log, images, () => undefined).begin()).rejects.toThrow("the disk failed");
  expect(released).toBe(1);
});
