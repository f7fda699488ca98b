import { expect, it } from "vitest";
import { attackDaemon } from "../faults/attack/attack.ts";

it("gives nothing to pages elsewhere and to requests that lead inside", async () => {
  const results = await attackDaemon("(", () => undefined);
  expect(results.length).toBeGreaterThan(4);
  expect(results.filter(({ gains }) => gains.length > 0)).toEqual([]);
});
