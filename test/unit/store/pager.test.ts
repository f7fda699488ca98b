import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PageQuery, Store } from "../../../src/store/store.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { everybody, keepers, keys, openTestStore, rooms } from "./store-fixture.ts";

let store: Store;
beforeAll(async () => {
  store = openTestStore(makeTempDir());
  await Promise.all(
    Array.from({ length: 25 }, (_, at) =>
      store.create(
        rooms,
        { name: `room ${String((at * 7) % 25).padStart(2, "0")}`, seats: at % 4, open: at % 2 === 0 },
        everybody,
      ),
    ),
  );
});
afterAll(() => store.close());

const walk = (query: object, backwards = false): string[][] => {
  const pages: string[][] = [];
  let start: string | undefined = backwards ? "end" : undefined;
  for (;;) {
    const page = store.page(rooms, { limit: 4, ...query, ...(start === undefined ? {} : { start }) });
    pages.push(page.rows.map((row) => row.name));
    const on = backwards ? page.previous : page.next;
    if (on === null) return backwards ? pages.reverse() : pages;
    start = on;
  }
};

describe("pager", () => {
  it.each(["createdAt", "-createdAt", "name", "-name", "seats", "-seats", "since", "kind", "-open"])(
    "walks by %s in the same order in both directions",
    (sort) => {
      const forwards = walk({ sort }).flat();
      expect(new Set(forwards).size).toBe(25);
      expect(walk({ sort }, true).flat()).toEqual(forwards);
    },
  );

  it("returns total, partial flag and page tokens", () => {
    const first = store.page(rooms, { limit: 10 });
    expect(first).toMatchObject({ total: 25, partial: true, previous: null });
    const last = store.page(rooms, { limit: 10, start: "end" });
    expect(last).toMatchObject({ partial: true, next: null });
    expect(store.page(rooms, { limit: 25 })).toMatchObject({ partial: false, previous: null, next: null });
    expect(store.page(rooms, { limit: 1, includeTotal: false }).total).toBeNull();
    expect(store.page(keepers, {})).toEqual({ rows: [], total: 0, partial: false, previous: null, next: null });
  });

  it("filters by lists of values, presence and ranges", async () => {
    const count = (filters: PageQuery["filters"]) => store.page(rooms, { filters: filters ?? [] }).total;
    expect(count([{ field: "seats", op: "in", value: [1, 3] }])).toBe(12);
    expect(count([{ field: "name", op: "in", value: ["room 01", "room 02", "nothing"] }])).toBe(2);
    expect(count([{ field: "open", op: "in", value: [true, false] }])).toBe(25);
    expect(count([{ field: "kind", op: "set", value: true }])).toBe(0);
    expect(count([{ field: "kind", op: "set", value: false }])).toBe(25);
    expect(
      count([
        { field: "seats", op: "gt", value: 0 },
        { field: "seats", op: "lte", value: 2 },
      ]),
    ).toBe(12);
  });

  it.each(["name", "-createdAt", "seats"])("starts at any row by %s and continues in both directions", (sort) => {
    const all = walk({ sort }).flat();
    const page = store.page(rooms, { sort, limit: 4, skip: 13 });
    const names = (start: string | null) =>
      store.page(rooms, { sort, limit: 4, start: start ?? "" }).rows.map((row) => row.name);
    expect(page.rows.map((row) => row.name)).toEqual(all.slice(13, 17));
    expect(names(page.next)).toEqual(all.slice(17, 21));
    expect(names(page.previous)).toEqual(all.slice(9, 13));
    const fromEnd = store.page(rooms, { sort, limit: 4, start: "end", skip: 3 });
    expect(fromEnd.rows.map((row) => row.name)).toEqual(all.slice(18, 22));
    expect(names(fromEnd.next)).toEqual(all.slice(22));
    expect(store.page(rooms, { sort, skip: 25 })).toMatchObject({ rows: [], total: 25, next: null });
  });

  it("rejects page tokens of other lists and forged tokens", () => {
    const { next } = store.page(rooms, { limit: 4, sort: "name" });
    expect(() => store.page(rooms, { limit: 4, start: next ?? "" })).toThrow("Field start is not valid.");
    for (const forged of ["x", "bm8=", Buffer.from('"a.[1,0,0]"').toString("base64")]) {
      expect(() => store.page(rooms, { start: forged })).toThrow("Field start is not valid.");
    }
  });

  it("filters by equality, range, ids and null", () => {
    const names = (filters: object[]): number =>
      store.page(rooms, { filters: filters as never, limit: 100 }).rows.length;
    expect(names([{ field: "seats", op: "eq", value: 3 }])).toBe(6);
    expect(
      names([
        { field: "seats", op: "gte", value: 2 },
        { field: "open", op: "eq", value: true },
      ]),
    ).toBe(6);
    expect(names([{ field: "name", op: "eq", value: "room 03" }])).toBe(1);
    expect(names([{ field: "name", op: "eq", value: "ROOM 03" }])).toBe(0);
    expect(names([{ field: "kind", op: "eq", value: null }])).toBe(25);
    const { rows } = store.page(rooms, { limit: 2 });
    expect(store.page(rooms, { ids: rows.map((row) => row.id.toUpperCase()) }).total).toBe(2);
    expect(store.page(rooms, { pks: rows.map((row) => row.pk) }).total).toBe(2);
  });

  it("returns and counts only visible rows", () => {
    const scope = {
      ...everybody.scope,
      visible: () => ({ sql: "t.seats = ? AND t.name <> ?", params: [1, "room 07"] }),
    };
    const page = store.page(rooms, { scope, limit: 100 });
    expect(page.total).toBe(page.rows.length);
    expect(page.rows.every((row) => row.seats === 1 && row.name !== "room 07")).toBe(true);
    expect(page.total).toBe(5);
  });

  it("follows a link resource except rows hidden by a field", async () => {
    const [first, second] = store.find(rooms, {}, 2).map((row) => row.id) as [string, string];
    await store.create(keys, { roomId: first, code: "gone" }, everybody);
    await store.create(keys, { roomId: second }, everybody);
    const through = (roomId: string) => ({ resource: "keys", via: "roomId", within: { roomId } });
    expect(store.page(rooms, { through: through(first) })).toMatchObject({ rows: [{ id: first }], total: 1 });
    expect(store.page(rooms, { through: { ...through(first), hiddenBy: "code" } })).toMatchObject({
      rows: [],
      total: 0,
    });
    expect(store.page(rooms, { through: { ...through(second), hiddenBy: "code" } }).rows[0]?.id).toBe(second);
  });

  it("never repeats or skips a row while others are inserted and deleted", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(9), { minLength: 1, maxLength: 12 }), fc.boolean(), async (moves, backwards) => {
        const stays = new Set(store.find(rooms, {}).map((row) => row.id));
        const seen: string[] = [];
        const extra: string[] = [];
        let start: string | undefined = backwards ? "end" : undefined;
        for (let turn = 0; ; turn++) {
          const page = store.page(rooms, { limit: 3, sort: "name", ...(start === undefined ? {} : { start }) });
          seen.push(...page.rows.map((row) => row.id));
          const move = moves[turn % moves.length] ?? 0;
          const added = await store.create(rooms, { name: `room ${move}${turn} x` }, everybody);
          extra.push(added.id);
          if (move % 3 === 0) await store.remove(rooms, extra.shift() ?? "", everybody);
          const on = backwards ? page.previous : page.next;
          if (on === null) break;
          start = on;
        }
        for (const id of extra) await store.remove(rooms, id, everybody);
        expect(new Set(seen).size).toBe(seen.length);
        expect([...stays].filter((id) => !seen.includes(id))).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });
});
