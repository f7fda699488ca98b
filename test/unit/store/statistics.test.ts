import Database from "better-sqlite3";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { createTableStatistics } from "../../../src/store/statistics.ts";
import type { Store } from "../../../src/store/store.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { eventually } from "../../support/timeouts.ts";
import { everybody, keepers, openTestStore } from "./store-fixture.ts";

const run = async (work: () => void): Promise<void> => work();

/** A table of people: each has a list of a few, and a badge that only they have. Both columns have an index. */
function openPeople() {
  const db = new Database(":memory:");
  db.exec("CREATE TABLE people (pk INTEGER PRIMARY KEY, list INTEGER, badge INTEGER)");
  // Of two that look alike, SQLite takes the newer one.
  db.exec("CREATE INDEX people_by_badge ON people (badge); CREATE INDEX people_by_list ON people (list)");
  const add = (count: number): void => {
    const insert = db.prepare("INSERT INTO people (list, badge) SELECT ?, coalesce(max(pk), 0) FROM people");
    db.transaction(() => {
      for (let n = 0; n < count; n++) insert.run(n % 4);
    })();
  };
  const plan = (): string => {
    const [step] = db.prepare("EXPLAIN QUERY PLAN SELECT * FROM people WHERE list = 1 AND badge = 2").all();
    return (step as { detail: string }).detail;
  };
  return { db, add, plan, statistics: createTableStatistics(db, systemClock) };
}

describe("statistics of tables", () => {
  it("let the index be chosen that leaves the fewest rows", async () => {
    const { add, plan, statistics } = openPeople();
    add(2_000);
    expect(plan()).toContain("people_by_list");
    await statistics.refresh(run);
    expect(plan()).toContain("people_by_badge");
  });

  it("leave small tables alone, which may be filled at once", async () => {
    const { db, add, statistics } = openPeople();
    add(999);
    expect(await statistics.refresh(run)).toEqual([]);
    expect(statistics.refreshNow(1_000)).toEqual([]);
    add(1);
    expect(await statistics.refresh(run)).toEqual(["people"]);
    expect(db.prepare("SELECT DISTINCT tbl FROM sqlite_stat1").pluck().all()).toEqual(["people"]);
  });

  it("are renewed once a table has grown tenfold, not before", async () => {
    const { add, statistics } = openPeople();
    add(1_000);
    expect(await statistics.refresh(run)).toEqual(["people"]);
    add(1_000);
    expect(await statistics.refresh(run)).toEqual([]);
    add(20_000);
    expect(await statistics.refresh(run)).toEqual(["people"]);
    expect(await statistics.refresh(run)).toEqual([]);
  });

  it("are written through the given transaction only", async () => {
    const { db, add, statistics } = openPeople();
    add(1_000);
    const refused = statistics.refresh(() => Promise.reject(new Error("disk full")));
    await expect(refused).rejects.toThrow("disk full");
    expect(db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'").pluck().get()).toBe(0);
  });

  it("take no longer than their budget at a close", () => {
    const { add, statistics } = openPeople();
    add(1_000);
    expect(statistics.refreshNow(-1)).toEqual([]);
    expect(statistics.refreshNow(1_000)).toEqual(["people"]);
  });
});

describe("a store", () => {
  let store: Store;
  afterEach(() => store.close());
  const analysed = (): string[] =>
    store.one("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'")
      ? store.all<{ tbl: string }>("SELECT DISTINCT tbl FROM sqlite_stat1 ORDER BY tbl").map(({ tbl }) => tbl)
      : [];
  const addKeepers = (into: Pick<Store, "openBatch">, count: number) =>
    into.openBatch("0190aaaa-0000-7000-8000-000000000001", [keepers]).then(async (batch) => {
      await batch.write((tx) => {
        for (let n = 0; n < count; n++) tx.create(keepers, { name: `Keeper ${n}` }, everybody);
      });
      return batch;
    });

  it("renews its statistics when a batch of rows is published", async () => {
    store = openTestStore(makeTempDir());
    const batch = await addKeepers(store, 1_000);
    expect(analysed()).toEqual([]);
    await batch.publish();
    await eventually(async () => analysed().includes("keepers"));
    expect(await store.refreshStatistics()).not.toContain("keepers");
  });

  it("renews them when it is closed", async () => {
    const dir = makeTempDir();
    store = openTestStore(dir);
    await store.write((tx) => {
      for (let n = 0; n < 1_000; n++) tx.create(keepers, { name: `Keeper ${n}` }, everybody);
    });
    expect(analysed()).toEqual([]);
    await store.close();
    store = openTestStore(dir);
    expect(analysed()).toContain("keepers");
  });
});
