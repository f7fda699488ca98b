import { afterAll, beforeAll, describe, expect, it } from "vitest";
import auditEntries from "../../../src/resources/security/audit-entries.ts";
import type { FieldFilter, PageQuery, SearchQuery, Store } from "../../../src/store/store.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "../permissions/access-fixture.ts";
import { everybody, keepers, openTestStore, rooms } from "./store-fixture.ts";

/** More than are read or sorted in one go. */
const MANY = 6_000;

let fixture: AccessFixture;
beforeAll(async () => {
  fixture = await openAccess(makeTempDir());
  const { store, system } = fixture;
  for (let from = 0; from < MANY; from += 500) {
    await store.write((tx) => {
      for (let at = from; at < from + 500; at++) {
        const name = at % 100 === 7 ? `Quentin ${at}` : `Person ${at}`;
        const actor = { kind: "user", userId: null, name, address: "10.0.0.1" } as const;
        tx.addAuditEvent({ op: "refused", resource: "users", rowId: null }, { ...system, actor });
      }
    });
    fixture.clock.advanceSync(1_000);
  }
});
afterAll(() => fixture.close());

const search = (text: string): PageQuery => ({ search: { text, field: null }, limit: 1_000 });

/** Names of all entries of a list, from page to page in one direction. */
async function walked(query: PageQuery, direction: "next" | "previous"): Promise<string[]> {
  const names: string[] = [];
  let start: string | null = direction === "next" ? "" : "end";
  while (start !== null) {
    const { rows, total, ...page } = await fixture.store.pageInChunks(auditEntries, { ...query, start });
    const found = rows.map(({ actorName }) => actorName ?? "");
    names.splice(direction === "next" ? names.length : 0, 0, ...found);
    expect(total).not.toBeNull();
    start = page[direction];
  }
  return names;
}

describe("search over a large append-only resource", () => {
  it("uses the full-text index of the audit", async () => {
    const { store } = fixture;
    const waiting = "SELECT count(*) AS n FROM search_pending WHERE type = 'audit_entries'";
    await expect.poll(() => store.one<{ n: number }>(waiting)?.n).toBeLessThan(1_000);
    const { rows, total, next } = await store.pageInChunks(auditEntries, search("quent"));
    expect([rows.length, total, next]).toEqual([60, 60, null]);
    expect(rows[0]?.actorName).toBe("Quentin 7");
  });

  it("finds each row once, in both directions and sort orders", async () => {
    const expected = Array.from({ length: MANY }, (_, at) => at)
      .filter((at) => at % 100 !== 7)
      .map((at) => `Person ${at}`);
    expect(await walked(search("person"), "next")).toEqual(expected);
    expect(await walked(search("person"), "previous")).toEqual(expected);
    const down = { ...search("person"), sort: "-createdAt" };
    expect(await walked(down, "next")).toEqual(expected.toReversed());
    expect(await walked(down, "previous")).toEqual(expected.toReversed());
  });

  it("returns the total and starts at any row", async () => {
    const page = await fixture.store.pageInChunks(auditEntries, { ...search("person"), skip: 2_500, limit: 2 });
    expect(page).toMatchObject({ total: 5_940, partial: true });
    expect(page.rows.map(({ actorName }) => actorName)).toEqual(["Person 2526", "Person 2527"]);
    const { rows } = await fixture.store.pageInChunks(auditEntries, {
      ...{ ...search("person"), limit: 2 },
      start: page.previous ?? "",
    });
    expect(rows.map(({ actorName }) => actorName)).toEqual(["Person 2524", "Person 2525"]);
  });

  it("applies filters and sorts by any field", async () => {
    const filters = [{ field: "op", op: "eq" as const, value: "create" }];
    expect(await fixture.store.pageInChunks(auditEntries, { ...search("person"), filters })).toMatchObject({
      total: 0,
    });
    const expected = Array.from({ length: MANY }, (_, at) => `Person ${at}`)
      .filter((_, at) => at % 100 !== 7)
      .sort();
    const sorted = { ...search("person"), sort: "actorName" };
    expect(await walked(sorted, "next")).toEqual(expected);
    expect(await walked({ ...sorted, sort: "-actorName" }, "previous")).toEqual(expected.toReversed());
    const few = await fixture.store.pageInChunks(auditEntries, { ...search("quentin"), sort: "-actorName", limit: 1 });
    expect(few.rows[0]?.actorName).toBe("Quentin 907");
  });

  it("yields to other work between chunks", async () => {
    const either: PageQuery = {
      search: { any: [{ text: "person", field: null }, { filter: { field: "op", op: "eq", value: "create" } }] },
    };
    expect(await turnsDuring(() => fixture.store.pageInChunks(auditEntries, either))).toBeGreaterThanOrEqual(
      MANY / 500,
    );
  });
});

/** Turns that the event loop took meanwhile. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  turn();
  await work();
  isOver = true;
  return turns;
}

describe("a large list", () => {
  const ROWS = 12_000;
  let store: Store;
  let keeper = "";
  beforeAll(async () => {
    store = openTestStore(makeTempDir());
    keeper = (await store.create(keepers, { name: "Ann" }, everybody)).id;
    await store.write((tx) => {
      tx.run(
        `WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x + 1 < ?)
         INSERT INTO rooms (id, created_at, updated_at, name, seats, open, kind, keeper_pk)
         SELECT uuid7(), 1000 - x % 700, x * 7 % 1001, iif(x % 3, 'Room ', 'hall ') || x, x % 400, x % 2,
           CASE x % 3 WHEN 0 THEN 'lab' WHEN 1 THEN 'hall' END, iif(x % 5, NULL, (SELECT pk FROM keepers)) FROM n`,
        ROWS,
      );
      tx.run("INSERT INTO search_pending SELECT 'rooms', pk FROM rooms");
    });
    const waiting = "SELECT count(*) AS n FROM search_pending";
    while ((store.one<{ n: number }>(waiting)?.n ?? 0) >= 256) await store.write(() => undefined);
    await store.update(rooms, store.find(rooms, { name: "Room 10" })[0]?.id ?? "", { name: "Room ten" }, everybody);
  });
  afterAll(() => store.close());

  const text = (words: string): SearchQuery => ({ text: words, field: null });
  const visible = { sql: "t.seats < ?", params: [350] };
  const scope = { ...everybody.scope, visible: () => visible };
  const QUERIES: [string, PageQuery][] = [
    ["whole", {}],
    ["sorted by name", { sort: "-name" }],
    ["sorted by a field without an index", { sort: "seats" }],
    ["sorted by change", { sort: "-updatedAt" }],
    ["sorted by a field with empty values", { sort: "-kind" }],
    ["filtered", { filters: [{ field: "kind", op: "eq", value: "hall" }], sort: "seats" }],
    ["filtered by a reference", { filters: [{ field: "keeperId", op: "set", value: true }] }],
    ["of the visible rows", { scope, sort: "-seats" }],
    ["searched", { search: text("room"), sort: "-name" }],
    ["searched by a prefix", { search: text("h") }],
    ["searched and filtered", { search: text("r"), filters: [{ field: "open", op: "eq", value: true }], scope }],
    ["searched for a text and a value", { search: { all: [text("room"), { filter: kindIs("hall") }] }, sort: "name" }],
    ["searched for a text or a value", { search: { any: [text("hall 1"), { filter: kindIs("hall") }] } }],
    ["without a hit", { search: text("cellar") }],
    [
      "of given keys",
      { pks: Array.from({ length: 9_000 }, (_, at) => at + 5).reverse(), pksOf: "some", sort: "seats" },
    ],
  ];
  function kindIs(value: string): FieldFilter {
    return { field: "kind", op: "eq", value };
  }

  it.each(QUERIES)("%s is the same as one read in one go", async (_what, query) => {
    for (const start of [{}, { start: "end" }]) {
      for (const skip of [0, 1, 2_001, 5_500, 11_990]) {
        const page = { ...query, ...start, skip, limit: 50 };
        const inOne = store.page(rooms, page);
        const inChunks = await store.pageInChunks(rooms, page);
        expect(inChunks).toEqual(inOne);
        for (const direction of ["next", "previous"] as const) {
          const token = inOne[direction];
          if (token === null) continue;
          const following = { ...query, limit: 50, start: token };
          expect(await store.pageInChunks(rooms, following)).toEqual(store.page(rooms, following));
          const further = { ...following, skip: 2_500 };
          expect(await store.pageInChunks(rooms, further)).toEqual(store.page(rooms, further));
        }
      }
    }
  });

  it("lets other work run in between", async () => {
    const query: PageQuery = { filters: [kindIs("hall")], sort: "seats" };
    expect(await turnsDuring(() => store.pageInChunks(rooms, query))).toBeGreaterThanOrEqual(ROWS / 2_000);
  });

  it("takes one chunk per turn, however many lists are read at the same time", async () => {
    const query: PageQuery = { filters: [kindIs("hall")], sort: "seats", limit: 1 };
    const read = () => Promise.all(Array.from({ length: 20 }, () => store.pageInChunks(rooms, query)));
    expect(await turnsDuring(read)).toBeGreaterThanOrEqual((20 * ROWS) / 2_000);
  });

  it("never shows a row that is hidden meanwhile", async () => {
    const [first] = store.page(rooms, { scope, sort: "seats", limit: 1 }).rows;
    const reading = store.pageInChunks(rooms, { scope, sort: "seats", limit: 1_000 });
    await store.update(rooms, first?.id ?? "", { seats: 399 }, everybody);
    expect((await reading).rows.map(({ id }) => id)).not.toContain(first?.id);
    await store.update(rooms, first?.id ?? "", { seats: 0 }, everybody);
  });

  it("lists the rows of one parent", async () => {
    const query: PageQuery = { within: { keeperId: keeper }, sort: "seats", limit: 100 };
    expect(await store.pageInChunks(rooms, query)).toEqual(store.page(rooms, query));
  });
});
