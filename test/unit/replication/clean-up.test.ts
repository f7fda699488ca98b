import { expect, it } from "vitest";
import { type Command, LIMITS } from "../../../src/replication/frames.ts";
import { forgetTombstones, tidy } from "../../../src/replication/hub/clean-up.ts";
import { issue, outcomesOf } from "../../../src/replication/hub/commands.ts";
import { type Cursor, readPage } from "../../../src/replication/hub/down-feed.ts";
import { prepareHub, publish } from "../../../src/replication/hub/publish.ts";
import { LINKS, type SiteLink } from "../../../src/replication/hub/tables.ts";
import { setScopes } from "../../../src/replication/hub/welcome.ts";
import { replicatedTypes } from "../../../src/replication/replicated-types.ts";
import { type Body, get } from "../../../src/replication/work.ts";
import { createMemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";

const TYPES = replicatedTypes(CATALOGUE);
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

it("gives no page to a connection that was not told of deletions that are forgotten", () => {
  const cloud = createMemoryStore(CATALOGUE);
  const publishRow = (id: string, body: Body | null): void => {
    cloud.perform(() => publish([{ type: "people", id, body, scope: null, at: START }], TYPES));
  };
  cloud.perform(() => prepareHub("first"));
  cloud.perform(() => setScopes("site", null));
  publishRow("one", { id: "one", note: "" });
  const { sess } = cloud.perform(() => get(LINKS, "site")) as SiteLink;
  const cursor = (at: number): Cursor => ({
    ...{ endpoint: "site", sess, types: ["people"], at, told: 0, owesMark: false, owesDigests: false, snap: null },
  });
  publishRow("one", null);
  publishRow("two", { id: "two", note: "" });
  const page = (at: number) =>
    cloud.perform(() => readPage(cursor(at), LIMITS))?.frame.rows.map(([op, , id]) => [op, id]);
  expect(page(1)).toEqual([
    ["d", "one"],
    ["p", "two"],
  ]);
  expect(cloud.perform(() => forgetTombstones(START + 1_000, 500))).toBe(1);
  expect(() => page(1)).toThrow("forgotten");
  expect(page(2)).toEqual([["p", "two"]]);
});
