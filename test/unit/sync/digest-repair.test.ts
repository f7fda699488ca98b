import { expect, it } from "vitest";
import { findDifferingRows } from "../../../src/sync/hub/digest-repair.ts";
import { admitSite } from "../../../src/sync/hub/handshake.ts";
import { initializeFeed, publishRows } from "../../../src/sync/hub/publish.ts";
import { FEED_RECORDS } from "../../../src/sync/hub/tables.ts";
import { bucketDigests, bucketIndex } from "../../../src/sync/protocol/row-digests.ts";
import { scanRecords, type TransactionProgram } from "../../../src/sync/storage/transaction-program.ts";
import { createMemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { CREDIT, HELLO, room, TYPES } from "../ha/shared-log-contract.ts";

const ROOMS = 450;

/** A cloud with many rooms, and an appliance that has all but the newest version of one. */
function differing() {
  const cloud = createMemoryStore(CATALOGUE);
  cloud.perform(() => initializeFeed("epoch"));
  cloud.perform(() =>
    publishRows(
      Array.from({ length: ROOMS }, (_, at) => room(`room-${at}`, `Room ${at}`)),
      TYPES,
    ),
  );
  const { cursor } = cloud.perform(() => admitSite({ ...HELLO, recv: ROOMS }, 1, CREDIT));
  const rows = cloud.perform(() => scanRecords(FEED_RECORDS));
  const theirs = rows.map((row) => (row.id === "room-7" ? { ...row, seq: row.seq + 1_000 } : row));
  const asked = { applied: ROOMS, type: "rooms", buckets: bucketDigests("rooms", theirs) };
  const store = { read: async <T>(work: () => TransactionProgram<T>): Promise<T> => cloud.perform(work) };
  return { cloud, cursor, rows, asked, store };
}

it("finds differing rows and yields to other tasks", async () => {
  const { cursor, rows, asked, store } = differing();
  let given = 0;
  const yieldToUrgent = async (): Promise<void> => {
    given += 1;
  };
  const found = await findDifferingRows({ store, types: TYPES, yieldToUrgent }, cursor, asked);
  const wanted = rows.filter(({ id }) => bucketIndex(id) === bucketIndex("room-7"));
  expect(found?.buckets).toEqual([bucketIndex("room-7")]);
  expect(found?.rows).toEqual(wanted.map(({ type, id, seq, body }) => ["p", type, id, seq, body]));
  expect(given).toBe(2);
});

it("stops when rows change during the comparison", async () => {
  const { cloud, cursor, asked, store } = differing();
  const yieldToUrgent = async () => void cloud.perform(() => publishRows([room("late", "Late")], TYPES));
  expect(await findDifferingRows({ store, types: TYPES, yieldToUrgent }, cursor, asked)).toBeNull();
});
