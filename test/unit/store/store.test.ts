import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { ConflictError } from "../../../src/lib/errors.ts";
import { defineResource } from "../../../src/schema/resource.ts";
import { AUDIT_COLUMNS, auditKeyOf, chainHash } from "../../../src/store/audit-chain.ts";
import type { ActorContext, Store } from "../../../src/store/store.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { everybody, keepers, keys, openTestStore, rooms } from "./store-fixture.ts";

let store: Store;
afterEach(() => store.close());

const fresh = (): Store => {
  store = openTestStore(makeTempDir());
  return store;
};
const changes = (): { type: string; row_id: string; op: string; seq: number }[] =>
  store.all("SELECT seq, type, row_id, op FROM changes ORDER BY seq");

describe("create, update, remove", () => {
  it("stores inner values, fills defaults and ignores unknown, internal and computed members", async () => {
    const input = {
      name: "A",
      since: "2026-01-01T01:00:00+01:00",
      marker: "x",
      label: "y",
      nonsense: 1,
      tags: ["a", "b"],
    };
    const { id } = await fresh().create(rooms, input, everybody);
    expect(store.get(rooms, id)).toMatchObject({
      name: "A",
      since: Date.parse("2026-01-01T00:00:00Z"),
      seats: 1,
      tags: ["a", "b"],
      marker: null,
      keeperId: null,
      ghostId: null,
    });
  });

  it("fills existing rows with the default of a new field", async () => {
    const dataDir = makeTempDir();
    const { seats: _seats, ...fields } = rooms.fields;
    const former = defineResource({ ...rooms, fields: fields as typeof rooms.fields });
    store = openTestStore(dataDir, {}, [former, keepers, keys]);
    const { id } = await store.create(former, { name: "A" }, everybody);
    await store.close();
    store = openTestStore(dataDir);
    expect(store.get(rooms, id)).toMatchObject({ name: "A", seats: 1 });
    expect(store.find(rooms, { seats: 1 }).map((row) => row.id)).toEqual([id]);
  });

  it("reports every invalid field and writes nothing", async () => {
    const bad = { name: "x".repeat(21), seats: 501, kind: "attic", tags: ["toolong"], ghostId: "nothing" };
    await expect(fresh().create(rooms, bad, everybody)).rejects.toMatchObject({
      type: "invalid-value",
      faults: expect.arrayContaining(
        ["name", "seats", "kind", "tags[0]", "ghostId"].map((field) => expect.objectContaining({ field })),
      ),
    });
    await expect(store.create(rooms, {}, everybody)).rejects.toMatchObject({
      type: "required",
      message: "Field name is required.",
    });
    expect(changes()).toEqual([]);
    expect(store.all("SELECT pk FROM audit_entries")).toEqual([]);
  });

  it("rejects references to missing rows and to hidden rows", async () => {
    const room = await fresh().create(rooms, { name: "A" }, everybody);
    const blind: ActorContext = { ...everybody, scope: { ...everybody.scope, visible: () => "none" } };
    await expect(store.create(keys, { roomId: room.id }, blind)).rejects.toMatchObject({
      faults: [{ field: "roomId" }],
    });
    await expect(
      store.create(keepers, { name: "K", roomIds: [room.id.replace(/^./, "f")] }, everybody),
    ).rejects.toMatchObject({
      faults: [{ field: "roomIds" }],
    });
    await expect(store.create(rooms, { name: "B", ghostId: room.id }, everybody)).rejects.toMatchObject({
      faults: [{ field: "ghostId" }],
    });
  });

  it("checks visibility of references from the caller only, not of existing or system ones", async () => {
    const room = await fresh().create(rooms, { name: "A" }, everybody);
    const other = await store.create(rooms, { name: "B" }, everybody);
    const blind: ActorContext = { ...everybody, scope: { ...everybody.scope, visible: () => "none" } };
    const keeper = await store.create(keepers, { name: "K", roomIds: [room.id] }, everybody);
    await store.update(rooms, room.id, { keeperId: keeper.id }, everybody);
    expect(await store.update(rooms, room.id, { seats: 7 }, blind)).toMatchObject({ seats: 7, keeperId: keeper.id });
    const fault = { faults: [{ field: "roomIds" }] };
    await expect(store.update(keepers, keeper.id, { roomIds: [room.id, other.id] }, blind)).rejects.toMatchObject(
      fault,
    );
    expect(store.get(keepers, keeper.id)?.roomIds).toEqual([room.id]);
    expect(await store.create(keys, { code: "1" }, blind, { roomId: room.id })).toMatchObject({ roomId: room.id });
  });

  it("updates only given fields, merges objects, clears with null and keeps create-only fields", async () => {
    const first = await fresh().create(rooms, { name: "A", open: true, place: { floor: 1, wing: "W" } }, everybody);
    const second = await store.create(rooms, { name: "B" }, everybody);
    const key = await store.create(keys, { roomId: first.id, code: "1" }, everybody);
    await store.update(rooms, first.id, { place: { floor: 2 }, open: null }, everybody);
    expect(store.get(rooms, first.id)).toMatchObject({ name: "A", open: null, place: { floor: 2, wing: "W" } });
    await store.update(keys, key.id, { roomId: second.id, code: "2" }, everybody);
    expect(store.get(keys, key.id)).toMatchObject({ roomId: first.id, code: "2" });
    await expect(store.update(rooms, first.id, { name: null }, everybody)).rejects.toMatchObject({ type: "required" });
  });

  it("writes nothing when nothing changes", async () => {
    const room = await fresh().create(rooms, { name: "A" }, everybody);
    const before = changes();
    await store.update(rooms, room.id, { name: "A" }, everybody);
    expect(changes()).toEqual(before);
  });

  it("enforces unique texts without case and names the field", async () => {
    await fresh().create(rooms, { name: "Aula" }, everybody);
    await expect(store.create(rooms, { name: "aula" }, everybody)).rejects.toMatchObject({
      type: "conflict",
      field: "name",
    });
  });

  it("enforces row limits per parent against 50 concurrent creates and frees them on deletion", async () => {
    const room = await fresh().create(rooms, { name: "A" }, everybody);
    const tries = Array.from({ length: 50 }, () => store.create(keys, { roomId: room.id }, everybody));
    const results = await Promise.allSettled(tries);
    expect(results.filter((result) => result.status === "fulfilled")).toHaveLength(3);
    const refused = results.find((result) => result.status === "rejected");
    expect(refused?.reason).toMatchObject({ type: "limit-exceeded", message: "Limit of 3 keys reached." });
    const [one] = store.find(keys, { roomId: room.id });
    await store.remove(keys, one?.id ?? "", everybody);
    await store.create(keys, { roomId: room.id }, everybody);
    await expect(store.create(keys, { roomId: room.id }, everybody)).rejects.toMatchObject({ type: "limit-exceeded" });
  });

  it("removes children and references with their target, each with a feed entry", async () => {
    const room = await fresh().create(rooms, { name: "A" }, everybody);
    const keeper = await store.create(keepers, { name: "K", roomIds: [room.id] }, everybody);
    await store.update(rooms, room.id, { keeperId: keeper.id }, everybody);
    const key = await store.create(keys, { roomId: room.id }, everybody);
    await store.remove(keepers, keeper.id, everybody);
    expect(store.get(rooms, room.id)?.keeperId).toBeNull();
    const other = await store.create(keepers, { name: "L", roomIds: [room.id] }, everybody);
    await store.remove(rooms, room.id, everybody);
    expect(store.get(keys, key.id)).toBeNull();
    expect(store.get(keepers, other.id)?.roomIds).toEqual([]);
    const newest = Object.fromEntries(changes().map((change) => [change.row_id, change.op]));
    expect(newest).toEqual({ [keeper.id]: "delete", [room.id]: "delete", [key.id]: "delete", [other.id]: "update" });
  });

  it("runs the check inside the transaction and keeps a refused row", async () => {
    const { id, updatedAt } = await fresh().create(rooms, { name: "A" }, everybody);
    const check = (row: { updatedAt: number }): void => {
      if (row.updatedAt !== updatedAt) throw new ConflictError("It changed.");
    };
    const change = (name: string) => store.update(rooms, id, { name }, everybody, undefined, check);
    const [one, two] = await Promise.allSettled([change("B"), change("C")]);
    expect([one.status, two.status]).toEqual(["fulfilled", "rejected"]);
    expect(store.get(rooms, id)?.name).toBe("B");
  });
});

describe("change feed and audit", () => {
  it("keeps the newest feed entry per row and a hash chain over every audit entry", async () => {
    const dataDir = makeTempDir();
    store = openTestStore(dataDir);
    const room = await store.create(rooms, { name: "A", pin: "4711" }, everybody);
    await store.update(rooms, room.id, { name: "B" }, everybody);
    expect(changes()).toEqual([{ seq: 2, type: "rooms", row_id: room.id, op: "update" }]);
    const rows = store.all<Record<string, string>>("SELECT * FROM audit_entries ORDER BY pk");
    const key = auditKeyOf(readFileSync(join(dataDir, "secret-key")));
    let previous = "";
    for (const row of rows) {
      previous = chainHash(
        key,
        previous,
        AUDIT_COLUMNS.map((name) => row[name]),
      );
      expect(row.hash).toBe(previous);
    }
    expect(rows.map((row) => [row.op, JSON.parse(row.after ?? "{}").name])).toEqual([
      ["create", "A"],
      ["update", "B"],
    ]);
    expect(JSON.stringify(rows)).not.toContain("4711");
  });

  it("refuses to change or delete audit entries", async () => {
    await fresh().create(rooms, { name: "A" }, everybody);
    for (const sql of [
      "UPDATE audit_entries SET op = 'x'",
      "DELETE FROM audit_entries",
      "INSERT OR REPLACE INTO audit_entries SELECT * FROM audit_entries",
    ]) {
      await expect(store.write((tx) => void tx.run(sql))).rejects.toThrow("append-only");
    }
  });
});

describe("writing", () => {
  it("rolls back only the failed write and emits only the events of the others", async () => {
    fresh();
    const good = store.write((tx) => tx.create(rooms, { name: "good" }, everybody).id);
    const bad = store.write((tx) => {
      tx.create(rooms, { name: "bad" }, everybody);
      throw new RangeError("no");
    });
    await expect(bad).rejects.toThrow("no");
    expect(store.get(rooms, await good)?.name).toBe("good");
    expect(store.count(rooms, {})).toBe(1);
    const after = await store.create(rooms, { name: "after" }, everybody);
    expect(after.name).toBe("after");
  });

  it("commits emergency writes before it runs normal ones", async () => {
    fresh();
    const order: string[] = [];
    const normal = store.write(() => void order.push("normal"));
    const emergency = store.write(() => void order.push("emergency"), "emergency");
    await emergency;
    expect(order).toEqual(["emergency"]);
    await normal;
    expect(order).toEqual(["emergency", "normal"]);
  });

  it("rejects use of a transaction after its end", async () => {
    fresh();
    let kept: { run(sql: string): unknown } | undefined;
    await store.write((tx) => {
      kept = tx;
    });
    expect(() => kept?.run("DELETE FROM changes")).toThrow("after its end");
  });

  it("lets hooks refuse, change and follow a write in its transaction", async () => {
    store = openTestStore(makeTempDir(), {
      rooms: {
        beforeWrite: ({ after }) => {
          if (after) after.marker = "seen";
        },
        afterWrite: ({ op, after }, tx, by) => {
          if (op === "create" && after) tx.create(keys, { roomId: after.id, code: "first" }, by);
        },
      },
    });
    const room = await store.create(rooms, { name: "A" }, everybody);
    expect(store.get(rooms, room.id)?.marker).toBe("seen");
    expect(store.find(keys, { roomId: room.id })).toMatchObject([{ code: "first" }]);
  });
});

describe("opening", () => {
  it("sets synchronous FULL at the first and at every later opening", async () => {
    const folder = makeTempDir();
    for (let time = 0; time < 2; time++) {
      store = openTestStore(folder);
      expect(store.one("PRAGMA synchronous")).toEqual({ synchronous: 2 });
      expect(store.one("PRAGMA journal_mode")).toEqual({ journal_mode: "wal" });
      if (time === 0) await store.close();
    }
  });

  it("rejects a folder that another process uses", () => {
    const folder = makeTempDir();
    store = openTestStore(folder);
    expect(() => openTestStore(folder)).toThrow("Another process uses the data");
  });

  it("seals a secret that looks like a sealed one", async () => {
    store = openTestStore(makeTempDir());
    const { id } = await store.create(rooms, { name: "A", pin: "v1:not-sealed" }, everybody);
    expect(store.secrets.open(store.get(rooms, id)?.pin ?? "")).toBe("v1:not-sealed");
  });

  it("seals secrets: the file holds neither the text nor the key", async () => {
    const folder = makeTempDir();
    store = openTestStore(folder);
    const { id } = await store.create(rooms, { name: "A", pin: "very-secret-4711" }, everybody);
    const sealed = store.get(rooms, id)?.pin ?? "";
    expect(store.secrets.open(sealed)).toBe("very-secret-4711");
    await store.update(rooms, id, { name: "B" }, everybody);
    expect(store.get(rooms, id)?.pin).toBe(sealed);
    const bytes =
      readFileSync(join(folder, "carillon.db")).toString("latin1") +
      readFileSync(join(folder, "carillon.db-wal")).toString("latin1");
    expect(bytes).not.toContain("very-secret-4711");
  });
});
