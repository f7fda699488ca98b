import { afterEach, describe, expect, it } from "vitest";
import { ConflictError } from "../../../src/lib/errors.ts";
import type { ResourceHooks, Store } from "../../../src/store/store.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { everybody, keepers, keys, openTestStore, rooms } from "./store-fixture.ts";

const KEYS = 2_000;
let store: Store;
afterEach(() => store.close());

/** A room with very many keys, its keeper, and another room with one key. */
async function house(hooks: Record<string, ResourceHooks> = {}) {
  store = openTestStore(makeTempDir(), hooks);
  const room = await store.create(rooms, { name: "A" }, everybody);
  const other = await store.create(rooms, { name: "B" }, everybody);
  const key = await store.create(keys, { roomId: other.id }, everybody);
  const keeper = await store.create(keepers, { name: "K", roomIds: [room.id, other.id] }, everybody);
  await store.write((tx) => {
    tx.run(
      `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?)
       INSERT INTO keys (id, created_at, updated_at, room_pk, code) SELECT uuid7(), 1, 1, ?, x FROM n`,
      KEYS,
      room.pk,
    );
  });
  return { room, other, key, keeper };
}

function rowsOf(sql: string): unknown[] {
  return store.all(sql);
}

describe("removal of a row with very many dependants", () => {
  it("removes all dependants with feed and audit entries and nothing else", async () => {
    const { room, other, key, keeper } = await house();
    await store.remove(rooms, room.id, everybody);
    expect(store.count(keys, {})).toBe(1);
    expect(store.get(keys, key.id)?.roomId).toBe(other.id);
    expect(store.get(rooms, room.id)).toBeNull();
    expect(store.get(keepers, keeper.id)?.roomIds).toEqual([other.id]);
    expect(rowsOf("SELECT count(*) AS n FROM changes WHERE type = 'keys' AND op = 'delete'")).toEqual([{ n: KEYS }]);
    expect(rowsOf("SELECT count(*) AS n FROM audit_entries WHERE resource = 'keys' AND op = 'delete'")).toEqual([
      { n: KEYS },
    ]);
    expect(rowsOf("PRAGMA foreign_key_check")).toEqual([]);
  });

  it("lets other writes run in between", async () => {
    const { room } = await house();
    let gone = false;
    const removed = store.remove(rooms, room.id, everybody).then(() => {
      gone = true;
    });
    const seen: number[] = [];
    for (let at = 0; !gone; at++) {
      await store.create(rooms, { name: `N${at}` }, everybody);
      seen.push(store.count(keys, {}));
    }
    await removed;
    expect(seen.length).toBeGreaterThan(3);
    expect(seen.some((left) => left > 1 && left < KEYS)).toBe(true);
  });

  it.each(["beforeWrite", "afterWrite"] as const)("changes nothing when a hook refuses it in %s", async (when) => {
    const refuse = {
      [when]({ op }: { op: string }) {
        if (op === "delete") throw new ConflictError("It stays.");
      },
    };
    const { room } = await house({ rooms: refuse as ResourceHooks });
    await expect(store.remove(rooms, room.id, everybody)).rejects.toThrow("It stays.");
    expect(store.count(keys, { roomId: room.id })).toBe(KEYS);
    expect(store.get(rooms, room.id)).not.toBeNull();
    await store.create(rooms, { name: "C" }, everybody);
  });

  it("changes nothing when the check refuses it", async () => {
    const { room } = await house();
    const check = (): never => {
      throw new ConflictError("It changed.");
    };
    await expect(store.remove(rooms, room.id, everybody, check)).rejects.toThrow("It changed.");
    expect(store.count(keys, { roomId: room.id })).toBe(KEYS);
  });
});
