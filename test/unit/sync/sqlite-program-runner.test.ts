import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { fullScope } from "../../../src/store/full-scope.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import {
  CHANGED_ACTIVITIES,
  LOCAL_EDITS,
  type LocalEditRecord,
  REFUSED_ROWS,
  SYNC_STATE,
} from "../../../src/sync/site/tables.ts";
import { HUB_COLLECTIONS, SITE_COLLECTIONS } from "../../../src/sync/storage/collections.ts";
import { collectionTables, createSqliteProgramRunner } from "../../../src/sync/storage/sqlite-program-runner.ts";
import { createStatementCache, indexName } from "../../../src/sync/storage/sqlite-statements.ts";
import {
  deleteAllRecords,
  deleteRecord,
  getRecord,
  putRecord,
  scanRecords,
} from "../../../src/sync/storage/transaction-program.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const COLLECTIONS = [...SITE_COLLECTIONS, ...HUB_COLLECTIONS];
const fail = (error: unknown): never => {
  throw error;
};
const actor = { kind: "system", userId: null, name: "replication", address: null } as const;

let store: Store;
let work: ReturnType<typeof createSqliteProgramRunner>;
beforeAll(() => {
  const of = {
    catalogue: CATALOGUE,
    tables: collectionTables(COLLECTIONS),
    clock: systemClock,
    events: createEvents(fail),
  };
  store = openStore({ dataDir: makeTempDir(), inMemory: true, ...of, log: silentLog, onFatal: fail });
  work = createSqliteProgramRunner(store, CATALOGUE, { actor, scope: fullScope(() => null) });
});
afterAll(() => store.close());

const edit = (uid: string, sequence: number): LocalEditRecord => {
  const made = { op: "create", set: {}, add: {}, remove: {}, was: {} } as const;
  return {
    uid,
    sequence,
    type: "rooms",
    id: "r",
    edit: made,
    state: "pending",
    lost: [],
    reason: null,
    actor: "a",
    at: 1,
  };
};

describe("SQLite program runner", () => {
  it("reads its own uncommitted writes by key and in order", async () => {
    const seen = await work.transact(function* () {
      yield* putRecord(LOCAL_EDITS, edit("b", 2));
      yield* putRecord(LOCAL_EDITS, edit("a", 1));
      yield* putRecord(LOCAL_EDITS, { ...edit("b", 3), lost: ["note"] });
      const byKey = yield* getRecord(LOCAL_EDITS, "b");
      const inOrder = yield* scanRecords(LOCAL_EDITS, { by: "open", where: ["pending"] });
      yield* deleteRecord(LOCAL_EDITS, "a");
      return { byKey, inOrder: inOrder.map(({ uid }) => uid), left: yield* getRecord(LOCAL_EDITS, "a") };
    });
    expect(seen).toMatchObject({ byKey: { sequence: 3, lost: ["note"] }, inOrder: ["a", "b"], left: null });
    expect(work.readSync(() => scanRecords(LOCAL_EDITS))).toEqual([{ ...edit("b", 3), lost: ["note"] }]);
    await work.transact(function* () {
      yield* putRecord(LOCAL_EDITS, edit("c", 4));
      yield* putRecord(CHANGED_ACTIVITIES, { id: "x" });
      yield* deleteAllRecords(LOCAL_EDITS);
    });
    expect(work.readSync(() => scanRecords(LOCAL_EDITS))).toEqual([]);
    expect(work.readSync(() => getRecord(CHANGED_ACTIVITIES, "x"))).toEqual({ id: "x" });
  });

  it("rolls back a failed program", async () => {
    const failed = work.transact(function* () {
      yield* putRecord(REFUSED_ROWS, { type: "rooms", id: "r", seq: 1, body: null, reason: "-" });
      if (yield* getRecord(SYNC_STATE, "link")) return;
      throw new Error("gone");
    });
    await expect(failed).rejects.toThrow("gone");
    expect(work.readSync(() => scanRecords(REFUSED_ROWS))).toEqual([]);
  });

  it("uses the named index even if the key has the same order", () => {
    const textsOf = createStatementCache();
    const indexes = COLLECTIONS.flatMap((of) => Object.keys(of.indexes).map((by) => ({ of, by })));
    for (const { of, by } of indexes) {
      const text = textsOf(of).scan({ by, where: ["x"], limit: 1 });
      const plan = store.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, "x");
      expect(plan.map(({ detail }) => detail).join()).toMatch(new RegExp(`^SEARCH .* ${indexName(of, by)} \\(`));
    }
    expect(indexes.length).toBeGreaterThan(10);
  });
});
