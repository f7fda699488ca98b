import { afterEach, describe, expect, it } from "vitest";
import type { Store } from "../../../src/store/store.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { everybody, keepers, keys, openTestStore, rooms } from "./store-fixture.ts";

let store: Store;
afterEach(() => store.close());

const fresh = (dir = makeTempDir()): Store => {
  store = openTestStore(dir);
  return store;
};
const ID = "0190aaaa-0000-7000-8000-000000000001";
const names = (): string[] => store.all<{ name: string }>("SELECT name FROM rooms ORDER BY pk").map(({ name }) => name);
const everything = (): unknown =>
  ["rooms", "keepers", "keepers__room_ids", "changes", "audit_entries", "search_pending", "staged_batches"].map(
    (table) => store.all(`SELECT * FROM ${table}`),
  );

const hide = (...rows: string[]) => hideIn(store, ...rows);

async function hideIn(into: Store, ...rows: string[]) {
  const batch = await into.openBatch(ID, [rooms, keepers]);
  await batch.write((tx) => void rows.map((name) => tx.create(rooms, { name }, everybody)));
  return batch;
}

describe("staged batch", () => {
  it("hides its rows until it is published, then shows all in creation order", async () => {
    await fresh().create(rooms, { name: "before" }, everybody);
    const batch = await hide("one", "two");
    expect(names()).toEqual(["before"]);
    expect(store.count(rooms, {})).toBe(1);
    expect(store.find(rooms, { name: "one" })).toEqual([]);
    expect(store.page(rooms, { includeTotal: true }).total).toBe(1);
    expect(await batch.write((tx) => tx.count(rooms, {}))).toBe(3);
    const during = await store.create(rooms, { name: "during" }, everybody);
    await store.update(rooms, during.id, { seats: 9 }, everybody);
    expect(names()).toEqual(["before", "during"]);
    await batch.publish();
    expect(names()).toEqual(["before", "one", "two", "during"]);
    expect(store.get(rooms, during.id)).toMatchObject({ seats: 9 });
    await store.create(rooms, { name: "after" }, everybody);
    expect(names().at(-1)).toBe("after");
  });

  it("adds feed, audit and search entries once, after publication", async () => {
    const batch = await hideIn(fresh(), "one", "two");
    expect(store.all("SELECT * FROM changes")).toEqual([]);
    await batch.publish();
    await store.announceBatch(ID, everybody);
    await store.announceBatch(ID, everybody);
    expect(store.all("SELECT op FROM changes")).toEqual([{ op: "create" }, { op: "create" }]);
    expect(store.all("SELECT op FROM audit_entries")).toEqual([{ op: "create" }, { op: "create" }]);
    expect(store.page(rooms, { search: { text: "two", field: null } }).rows).toHaveLength(1);
    expect(store.all("SELECT * FROM staged_batches")).toEqual([]);
  });

  it("leaves nothing when it is discarded", async () => {
    await fresh().create(rooms, { name: "before" }, everybody);
    const before = everything();
    const batch = await hide("one", "two");
    await batch.write((tx) => {
      const [one] = tx.find(rooms, { name: "one" });
      tx.create(keepers, { name: "K", roomIds: [one?.id] }, everybody);
    });
    await batch.discard();
    expect(everything()).toEqual(before);
    await store.create(rooms, { name: "one" }, everybody);
  });

  it("is removed after a crash before publication and announced after a later one", async () => {
    const dir = makeTempDir();
    await hideIn(fresh(dir), "one");
    await store.close();
    fresh(dir);
    expect(names()).toEqual([]);
    await (await hide("two")).publish();
    await store.close();
    fresh(dir);
    expect(names()).toEqual(["two"]);
    await store.announceBatch(ID, everybody);
    expect(store.all("SELECT op FROM changes")).toEqual([{ op: "create" }]);
  });

  it("reserves unique values and leaves nothing of a refused row", async () => {
    const batch = await hideIn(fresh(), "one");
    await expect(store.create(rooms, { name: "one" }, everybody)).rejects.toMatchObject({ type: "conflict" });
    await batch.write((tx) => {
      expect(() => tx.create(rooms, { name: "ONE" }, everybody)).toThrow();
      expect(() => tx.create(keepers, { name: "K", roomIds: [ID] }, everybody)).toThrow();
      tx.create(rooms, { name: "two" }, everybody);
    });
    await batch.publish();
    expect(names()).toEqual(["one", "two"]);
    expect(store.all("SELECT * FROM keepers")).toEqual([]);
  });

  it("protects referenced rows and allows one open batch", async () => {
    const keeper = await fresh().create(keepers, { name: "K" }, everybody);
    const room = await store.create(rooms, { name: "R" }, everybody);
    const batch = await store.openBatch(ID, [keys]);
    await batch.write((tx) => void tx.create(keys, { roomId: room.id }, everybody));
    await expect(store.openBatch(ID, [rooms])).rejects.toMatchObject({ type: "conflict" });
    await expect(store.remove(rooms, room.id, everybody)).rejects.toMatchObject({ type: "conflict" });
    await store.remove(keepers, keeper.id, everybody);
    await batch.discard();
    await store.remove(rooms, room.id, everybody);
  });
});
