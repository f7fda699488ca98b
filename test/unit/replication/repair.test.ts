import { expect, it } from "vitest";
import { bucketOf, bucketsOf } from "../../../src/replication/digests.ts";
import { prepareHub, publish } from "../../../src/replication/hub/publish.ts";
import { repairRows } from "../../../src/replication/hub/repair.ts";
import { ROWS } from "../../../src/replication/hub/tables.ts";
import { admit } from "../../../src/replication/hub/welcome.ts";
import { scan, type Work } from "../../../src/replication/work.ts";
import { createMemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { CREDIT, HELLO, room, TYPES } from "./store-port.ts";

const ROOMS = 450;

/** A cloud with many rooms, and an appliance that has all but the newest version of one. */
function differing() {
  const cloud = createMemoryStore(CATALOGUE);
  cloud.perform(() => prepareHub("epoch"));
  cloud.perform(() =>
    publish(
      Array.from({ length: ROOMS }, (_, at) => room(`room-${at}`, `Room ${at}`)),
      TYPES,
    ),
  );
  const { cursor } = cloud.perform(() => admit({ ...HELLO, recv: ROOMS }, 1, CREDIT));
  const rows = cloud.perform(() => scan(ROWS));
  const theirs = rows.map((row) => (row.id === "room-7" ? { ...row, seq: row.seq + 1_000 } : row));
  const asked = { applied: ROOMS, type: "rooms", buckets: bucketsOf("rooms", theirs) };
  const store = { read: async <T>(work: () => Work<T>): Promise<T> => cloud.perform(work) };
  return { cloud, cursor, rows, asked, store };
}

it("finds where many rows differ, while others have their turn", async () => {
  const { cursor, rows, asked, store } = differing();
  let given = 0;
  const giveWay = async (): Promise<void> => {
    given += 1;
  };
  const found = await repairRows({ store, giveWay }, cursor, asked);
  const wanted = rows.filter(({ id }) => bucketOf(id) === bucketOf("room-7"));
  expect(found?.buckets).toEqual([bucketOf("room-7")]);
  expect(found?.rows).toEqual(wanted.map(({ type, id, seq, body }) => ["p", type, id, seq, body]));
  expect(given).toBe(2);
});

it("is given up when something changes meanwhile", async () => {
  const { cloud, cursor, asked, store } = differing();
  const giveWay = async () => void cloud.perform(() => publish([room("late", "Late")], TYPES));
  expect(await repairRows({ store, giveWay }, cursor, asked)).toBeNull();
});
