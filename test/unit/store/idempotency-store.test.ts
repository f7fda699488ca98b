import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createIdempotencyStore } from "../../../src/store/idempotency-store.ts";
import type { IdempotencyStore, Secrets } from "../../../src/store/store.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";

const DAY_MS = 86_400_000;
const CLAIM = { owner: "user", key: "k", requestHash: "h" };
let db: Database.Database;
let clock: FakeClock;
let keys: IdempotencyStore;

beforeEach(() => {
  db = new Database(":memory:");
  clock = createFakeClock();
  const secrets = { seal: (text: string) => `sealed ${text}`, open: (text: string) => text.slice("sealed ".length) };
  keys = createIdempotencyStore(db, secrets as unknown as Secrets, clock);
});

afterEach(() => void db.close());

function storedKeys(): string[] {
  return db.prepare("SELECT key FROM idempotency_keys ORDER BY at, key").pluck().all() as string[];
}

describe("the idempotency store", () => {
  it("returns the created row and the sealed response of a key", () => {
    expect(keys.find(CLAIM)).toBeNull();
    keys.recordRow(CLAIM, "users", "u1");
    expect(keys.find(CLAIM)).toEqual({ response: null, createdRow: { resource: "users", id: "u1" } });
    keys.recordResponse(CLAIM, "secret token");
    expect(keys.find(CLAIM)).toEqual({ response: "secret token", createdRow: { resource: "users", id: "u1" } });
    expect(db.prepare("SELECT response FROM idempotency_keys").pluck().get()).toBe("sealed secret token");
  });

  it("records a response without a row", () => {
    keys.recordResponse(CLAIM, "ok");
    expect(keys.find(CLAIM)).toEqual({ response: "ok", createdRow: null });
  });

  it("keeps the first row of a key", () => {
    keys.recordRow(CLAIM, "users", "u1");
    keys.recordRow(CLAIM, "groups", "g1");
    expect(keys.find(CLAIM)?.createdRow).toEqual({ resource: "users", id: "u1" });
  });

  it("separates owners and rejects another request with the key", () => {
    keys.recordRow(CLAIM, "users", "u1");
    expect(keys.find({ ...CLAIM, owner: "other" })).toBeNull();
    expect(() => keys.find({ ...CLAIM, requestHash: "other" })).toThrow("already used for a different request");
  });

  it("keeps a key for 24 hours, then accepts it again", () => {
    keys.recordRow(CLAIM, "users", "u1");
    clock.advanceSync(DAY_MS);
    expect(keys.find(CLAIM)).not.toBeNull();
    keys.recordRow(CLAIM, "users", "u2");
    expect(keys.find(CLAIM)?.createdRow?.id).toBe("u1");
    clock.advanceSync(1);
    expect(keys.find({ ...CLAIM, requestHash: "other" })).toBeNull();
    keys.recordRow({ ...CLAIM, requestHash: "other" }, "users", "u3");
    expect(keys.find({ ...CLAIM, requestHash: "other" })?.createdRow?.id).toBe("u3");
  });

  it("deletes twenty expired keys with each new one, and no others", () => {
    for (let n = 0; n < 45; n++) keys.recordRow({ ...CLAIM, key: `old ${n}` }, "users", "u");
    clock.advanceSync(1);
    keys.recordRow({ ...CLAIM, key: "young" }, "users", "u");
    clock.advanceSync(DAY_MS);
    const counts = ["a", "a", "b", "c"].map((key) => {
      keys.recordRow({ ...CLAIM, key }, "users", "u");
      return storedKeys().length;
    });
    // A key that exists already cleans nothing up.
    expect(counts).toEqual([27, 27, 8, 4]);
    expect(storedKeys()).toEqual(["young", "a", "b", "c"]);
  });
});
