import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import { createEvents } from "../../../src/base/events.ts";
import { silentLog } from "../../../src/base/log.ts";
import { HUB_COLLECTIONS, SITE_COLLECTIONS } from "../../../src/replication/collections.ts";
import { ACTIVITIES, EDITS, LINK, type OwnEdit, PARKED } from "../../../src/replication/site/tables.ts";
import { createTexts, indexName } from "../../../src/replication/sqlite-texts.ts";
import { createSqliteWork, tablesOf } from "../../../src/replication/sqlite-work.ts";
import { clear, drop, get, put, scan } from "../../../src/replication/work.ts";
import { fullScope } from "../../../src/store/full-scope.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const COLLECTIONS = [...SITE_COLLECTIONS, ...HUB_COLLECTIONS];
const fail = (error: unknown): never => {
  throw error;
};
const actor = { kind: "system", userId: null, name: "replication", address: null } as const;

let store: Store;
let work: ReturnType<typeof createSqliteWork>;
beforeAll(() => {
  const of = { catalogue: CATALOGUE, tables: tablesOf(COLLECTIONS), clock: systemClock, events: createEvents(fail) };
  store = openStore({ dataDir: makeTempDir(), inMemory: true, ...of, log: silentLog, onFatal: fail });
  work = createSqliteWork(store, CATALOGUE, { actor, scope: fullScope(() => null) });
});
afterAll(() => store.close());

const edit = (uid: string, oseq: number): OwnEdit => {
  const made = { op: "create", set: {}, add: {}, remove: {}, was: {} } as const;
  return { uid, oseq, type: "rooms", id: "r", edit: made, state: "pending", lost: [], actor: "a", at: 1 };
};

describe("work on the database", () => {
  it("sees what it wrote, by key and in order, before it is committed", async () => {
    const seen = await work.transact(function* () {
      yield* put(EDITS, edit("b", 2));
      yield* put(EDITS, edit("a", 1));
      yield* put(EDITS, { ...edit("b", 3), lost: ["note"] });
      const byKey = yield* get(EDITS, "b");
      const inOrder = yield* scan(EDITS, { by: "open", where: ["pending"] });
      yield* drop(EDITS, "a");
      return { byKey, inOrder: inOrder.map(({ uid }) => uid), left: yield* get(EDITS, "a") };
    });
    expect(seen).toMatchObject({ byKey: { oseq: 3, lost: ["note"] }, inOrder: ["a", "b"], left: null });
    expect(work.peek(() => scan(EDITS))).toEqual([{ ...edit("b", 3), lost: ["note"] }]);
    await work.transact(function* () {
      yield* put(EDITS, edit("c", 4));
      yield* put(ACTIVITIES, { id: "x" });
      yield* clear(EDITS);
    });
    expect(work.peek(() => scan(EDITS))).toEqual([]);
    expect(work.peek(() => get(ACTIVITIES, "x"))).toEqual({ id: "x" });
  });

  it("leaves nothing of what failed", async () => {
    const failed = work.transact(function* () {
      yield* put(PARKED, { type: "rooms", id: "r", seq: 1, body: null, reason: "-" });
      if (yield* get(LINK, "link")) return;
      throw new Error("gone");
    });
    await expect(failed).rejects.toThrow("gone");
    expect(work.peek(() => scan(PARKED))).toEqual([]);
  });

  it("reads by the index that it names, also where the key has the same order", () => {
    const textsOf = createTexts();
    const indexes = COLLECTIONS.flatMap((of) => Object.keys(of.indexes).map((by) => ({ of, by })));
    for (const { of, by } of indexes) {
      const text = textsOf(of).scan({ by, where: ["x"], limit: 1 });
      const plan = store.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, "x");
      expect(plan.map(({ detail }) => detail).join()).toMatch(new RegExp(`^SEARCH .* ${indexName(of, by)} \\(`));
    }
    expect(indexes.length).toBeGreaterThan(10);
  });
});
