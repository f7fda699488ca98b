import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, describe, expect, it } from "vitest";
import { pagesAround } from "../../../../src/console/web/ui/list/list-pages.ts";
import { refreshLists } from "../../../../src/console/web/ui/list/refresh-lists.ts";
import { filterQuery, readTableSearch } from "../../../../src/console/web/ui/list/table-search.ts";

type User = { id: string; name: string; note: string };

const rename = (user: User | undefined, name: string) => void Object.assign(user as User, { name });

/** A server of 1,000 users in the order of their names, and a console that shows pages 0 and 3 of them, 7 out of sight. */
function scene() {
  const rows: User[] = Array.from({ length: 1_000 }, (_, n) => ({ id: `u${n}`, name: `n${1_000 + n}`, note: "old" }));
  const asked: Record<string, unknown>[] = [];
  const client = {
    async get(_route: string, _params: object, query: { ids?: string[]; skip?: number; limit?: number }) {
      asked.push(query);
      const sorted = rows.toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const { ids, skip = 0, limit = 100 } = query;
      const data = ids ? sorted.filter(({ id }) => ids.includes(id)) : sorted.slice(skip, skip + limit);
      return { total: rows.length, next: null, data: data.map((row) => ({ ...row })) };
    },
  };
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: 60_000 } } });
  const list = ["users", "users", {}, { sort: "name" }];
  const show = async (page: number): Promise<() => void> => {
    const observer = new QueryObserver(queries, {
      queryKey: [...list, "page", page],
      queryFn: () => client.get("users", {}, { skip: page * 100, limit: 100 }),
    });
    const off = observer.subscribe(() => undefined);
    await observer.refetch();
    return off;
  };
  const page = (n: number) => queries.getQueryData<{ data: User[] }>([...list, "page", n])?.data ?? [];
  const change = (...changes: [id: string, op?: string][]) =>
    refreshLists(
      { queries, client: client as never },
      "users",
      changes.map(([id, op = "update"]) => ({ resource: "users", id, op })),
    );
  return { rows, asked, queries, show, page, change };
}

describe("the pages of a list", () => {
  it("are the visible ones and a few more", () => {
    expect(pagesAround(0, 0, 1)).toEqual([0]);
    expect(pagesAround(0, 30, 100_000)).toEqual([0]);
    expect(pagesAround(70, 110, 100_000)).toEqual([0, 1]);
    expect(pagesAround(50_050, 50_080, 100_000)).toEqual([500, 501]);
    expect(pagesAround(99_980, 99_999, 100_000)).toEqual([999]);
  });
});

describe("a change of what a list shows", () => {
  let { rows, asked, queries, show, page, change } = scene();
  const begin = async () => {
    ({ rows, asked, queries, show, page, change } = scene());
    (await show(7))();
    await show(0);
    await show(3);
    asked.length = 0;
  };
  afterEach(() => queries.clear());

  it("reads the changed rows alone, by their ids, and puts them in their places", async () => {
    await begin();
    for (const n of [5, 310, 705]) (rows[n] as User).note = "new";
    await change(["u5"], ["u310"], ["u705"]);
    expect(asked).toEqual([expect.objectContaining({ ids: ["u5", "u310", "u705"] })]);
    expect([page(0)[5], page(3)[10], page(7)[5]].map((row) => row?.note)).toEqual(["new", "new", "new"]);
    expect(page(0)[6]?.note).toBe("old");
  });

  it.each<[string, (rows: User[]) => void, [string, string?]]>([
    ["moves in the order", (all) => rename(all[5], "z"), ["u5"]],
    ["leaves the list", (all) => void all.splice(5, 1), ["u5"]],
    ["is deleted", (all) => void all.splice(5, 1), ["u5", "delete"]],
    ["comes", (all) => void all.push({ id: "new", name: "a", note: "" }), ["new", "create"]],
    ["was not read yet, and may come into sight", (all) => rename(all[500], "a"), ["u500"]],
    ["can't be told", (all) => void all.splice(5, 1), ["*"]],
  ])("reads the pages in sight, and no others, when a row %s", async (_case, act, told) => {
    await begin();
    act(rows);
    await change(told);
    expect(asked.filter((query) => !("ids" in query)).map(({ skip }) => skip)).toEqual([0, 300]);
    const sorted = rows.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    expect(page(0)).toEqual(sorted.slice(0, 100));
    expect(page(3)).toEqual(sorted.slice(300, 400));
  });

  it("reads the ledger of that message alone", async () => {
    const { queries: cache } = scene();
    const told: unknown[] = [];
    const key = ["deliveries", "notifications/{notificationId}/devices", { notificationId: "a" }, {}, "page", 0];
    const observer = new QueryObserver(cache, {
      queryKey: key,
      queryFn() {
        told.push(0);
        return { total: 0, next: null, data: [] };
      },
    });
    const off = observer.subscribe(() => undefined);
    await observer.refetch();
    const of = (id: string) =>
      refreshLists({ queries: cache, client: null as never }, "deliveries", [
        { resource: "deliveries", id, op: "update" },
      ]);
    const before = told.length;
    await of("b");
    expect(told).toHaveLength(before);
    await of("a");
    expect(told).toHaveLength(before + 1);
    off();
    cache.clear();
  });
});

describe("an address", () => {
  it("keeps only what lists know", () => {
    expect(readTableSearch({ q: "x", outcome: 7, evil: "y", sort: "" })).toEqual({ q: "x", outcome: "7" });
  });

  it("says what the API is asked for", () => {
    const choices = [{ value: "untried", label: "", asks: "" }, ...["silent"].map((value) => ({ value, label: "" }))];
    const filters = [{ name: "state" as const, label: "", choices }];
    expect(filterQuery(filters, { state: "untried" })).toEqual({ state: "" });
    expect(filterQuery(filters, { state: "silent", type: "phones" })).toEqual({ state: "silent" });
    expect(filterQuery(filters, { state: "evil" })).toEqual({});
  });
});
