import { expect, it } from "vitest";
import type { Command } from "../../../src/replication/frames.ts";
import { tidy } from "../../../src/replication/hub/clean-up.ts";
import { issue, outcomesOf } from "../../../src/replication/hub/commands.ts";
import { prepareHub } from "../../../src/replication/hub/publish.ts";
import { setScopes } from "../../../src/replication/hub/welcome.ts";
import { createMemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";

const START = 1_768_000_000_000;
const ENDPOINTS = Array.from({ length: 20 }, (_, nth) => `site-${String(nth).padStart(2, "0")}`);

it("what was sent to no appliance in time is expired for all of them, in several transactions", async () => {
  const cloud = createMemoryStore(CATALOGUE);
  cloud.perform(() => prepareHub("first"));
  const command = {
    cid: "c",
    kind: "broadcast",
    class: "routine",
    rank: 0,
    term: 0,
    ref: null,
    body: {},
    notAfter: START,
  };
  for (const endpoint of ENDPOINTS) {
    cloud.perform(() => setScopes(endpoint, null));
    cloud.perform(() => issue(endpoint, command as Command, START - 1));
  }
  let transactions = 0;
  const store = {
    async transact<T>(work: Parameters<typeof cloud.perform<T>>[0]): Promise<T> {
      transactions += 1;
      return cloud.perform(work);
    },
  };
  const lost: string[] = [];
  const told: Parameters<typeof tidy>[2] = (found) => {
    for (const { endpoint, cid, outcome } of found) lost.push(`${endpoint} ${cid} ${outcome}`);
  };
  await tidy(store, START, told);
  expect(Object.values(cloud.perform(() => outcomesOf("c")))).toEqual(ENDPOINTS.map(() => null));
  transactions = 0;
  await tidy(store, START + 1, told);
  await tidy(store, START + 2, told);
  expect(cloud.perform(() => outcomesOf("c"))).toEqual(Object.fromEntries(ENDPOINTS.map((each) => [each, "expired"])));
  expect(lost).toEqual(ENDPOINTS.map((each) => `${each} c expired`));
  expect(transactions).toBeGreaterThan(3);
});
