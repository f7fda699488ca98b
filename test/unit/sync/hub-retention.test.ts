import { expect, it } from "vitest";
import { type FeedCursor, readDownstreamPage } from "../../../src/sync/hub/downstream-feed.ts";
import { setSiteScopes } from "../../../src/sync/hub/handshake.ts";
import { issueCommand, readCommandOutcomes } from "../../../src/sync/hub/issued-commands.ts";
import { initializeFeed, publishRows } from "../../../src/sync/hub/publish.ts";
import { pruneTombstones, runHubRetention } from "../../../src/sync/hub/retention.ts";
import { LINK_RECORDS, type LinkRecord } from "../../../src/sync/hub/tables.ts";
import { SYNC_LIMITS, type SyncCommand } from "../../../src/sync/protocol/frames.ts";
import { readReplicatedTypes } from "../../../src/sync/protocol/replicated-types.ts";
import { getRecord, type RowBody } from "../../../src/sync/storage/transaction-program.ts";
import { createMemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";

const TYPES = readReplicatedTypes(CATALOGUE);
const START = 1_768_000_000_000;
const ENDPOINTS = Array.from({ length: 20 }, (_, nth) => `site-${String(nth).padStart(2, "0")}`);

it("expires unsent commands of all appliances, in several transactions", async () => {
  const cloud = createMemoryStore(CATALOGUE);
  cloud.perform(() => initializeFeed("first"));
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
    cloud.perform(() => setSiteScopes(endpoint, null));
    cloud.perform(() => issueCommand(endpoint, command as SyncCommand, START - 1));
  }
  let transactions = 0;
  const store = {
    async transact<T>(work: Parameters<typeof cloud.perform<T>>[0]): Promise<T> {
      transactions += 1;
      return cloud.perform(work);
    },
  };
  const lost: string[] = [];
  const told: Parameters<typeof runHubRetention>[3] = (found) => {
    for (const { endpoint, cid, outcome } of found) lost.push(`${endpoint} ${cid} ${outcome}`);
  };
  await runHubRetention(store, START, TYPES, told);
  expect(Object.values(cloud.perform(() => readCommandOutcomes("c")))).toEqual(ENDPOINTS.map(() => null));
  transactions = 0;
  await runHubRetention(store, START + 1, TYPES, told);
  await runHubRetention(store, START + 2, TYPES, told);
  expect(cloud.perform(() => readCommandOutcomes("c"))).toEqual(
    Object.fromEntries(ENDPOINTS.map((each) => [each, "expired"])),
  );
  expect(lost).toEqual(ENDPOINTS.map((each) => `${each} c expired`));
  expect(transactions).toBeGreaterThan(3);
});

it("reads no page for a connection below the floor", () => {
  const cloud = createMemoryStore(CATALOGUE);
  const publishRow = (id: string, body: RowBody | null): void => {
    cloud.perform(() => publishRows([{ type: "people", id, body, scope: null, at: START }], TYPES));
  };
  cloud.perform(() => initializeFeed("first"));
  cloud.perform(() => setSiteScopes("site", null));
  publishRow("one", { id: "one", note: "" });
  const { sess } = cloud.perform(() => getRecord(LINK_RECORDS, "site")) as LinkRecord;
  const cursor = (sentTo: number): FeedCursor => ({
    ...{
      endpoint: "site",
      sess,
      types: ["people"],
      sentTo,
      resultsSentTo: 0,
      lateSentTo: 0,
      needsCheckpoint: false,
      needsDigests: false,
      snapshot: null,
    },
  });
  publishRow("one", null);
  publishRow("two", { id: "two", note: "" });
  const page = (at: number) =>
    cloud.perform(() => readDownstreamPage(cursor(at), SYNC_LIMITS, TYPES))?.frame.rows.map(([op, , id]) => [op, id]);
  expect(page(1)).toEqual([
    ["d", "one"],
    ["p", "two"],
  ]);
  expect(cloud.perform(() => pruneTombstones(START + 1_000, 500))).toBe(1);
  expect(() => page(1)).toThrow("below the floor");
  expect(page(2)).toEqual([["p", "two"]]);
});
