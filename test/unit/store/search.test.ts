import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, describe, expect, it } from "vitest";
import { tokenizeSearchText } from "../../../src/store/search-tokens.ts";
import type { SearchQuery, Store } from "../../../src/store/store.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { everybody, keepers, openTestStore, rooms } from "./store-fixture.ts";

let store: Store;
afterEach(() => store.close());

const open = (dataDir = makeTempDir()): Store => {
  store = openTestStore(dataDir);
  return store;
};
const text = (words: string, field: string | null = null): SearchQuery => ({ text: words, field });
const found = (search: SearchQuery, more: object = {}): string[] =>
  store.page(keepers, { search, sort: "name", limit: 1_000, ...more }).rows.map(({ name }) => name);
const pending = (): number => store.one<{ n: number }>("SELECT count(*) n FROM search_pending")?.n ?? -1;

async function make(names: readonly string[]): Promise<void> {
  await store.write((tx) => {
    for (const name of names) tx.create(keepers, { name }, everybody);
  });
}
const filler = Array.from({ length: 300 }, (_, at) => `Filler ${at}`);
const NAMES = ["Zoë Müller", "zoe miller", "Anna-Lena Zoeller", "名前 太郎", "O'Neil 10:30", '100% "sure"'];

describe.each([
  ["rows that wait to be indexed", [] as string[]],
  ["indexed rows", filler],
])("search over %s", (_what, more) => {
  const fill = async (): Promise<void> => {
    open();
    await make([...NAMES, ...more]);
    expect(pending()).toBe(more.length === 0 ? NAMES.length : 0);
  };

  it.each([
    ["zoe", ["Anna-Lena Zoeller", "zoe miller", "Zoë Müller"]],
    ["ZOË", ["Anna-Lena Zoeller", "zoe miller", "Zoë Müller"]],
    ["zoe mu", ["Zoë Müller"]],
    ["mu zoe", []],
    ["mull zoe", []],
    ["muller zoe", ["Zoë Müller"]],
    ["lena", ["Anna-Lena Zoeller"]],
    ["anna-lena", ["Anna-Lena Zoeller"]],
    ["oeller", []],
    ["名", ["名前 太郎"]],
    ["10:30", ["O'Neil 10:30"]],
    ["o'n", ["O'Neil 10:30"]],
    ['"sure', ['100% "sure"']],
    ["", []],
    ['"*^(){}:+-', []],
    ["zoe AND miller", []],
    ["zoe OR miller", []],
    ["NEAR(zoe miller)", []],
    ["name : zoe", []],
    ["zoe*", ["Anna-Lena Zoeller", "zoe miller", "Zoë Müller"]],
    ["zoe\0miller", ["zoe miller"]],
    ["\ud800", []],
  ])("for %j", async (words, expected) => {
    await fill();
    expect(found(text(words))).toEqual(expected);
    expect(found(text(words, "name"))).toEqual(expected);
  });

  it("combines searches and filters with ids, paging and totals", async () => {
    await fill();
    const either: SearchQuery = { any: [text("miller"), { all: [text("zoe"), text("mul")] }] };
    expect(found(either)).toEqual(["zoe miller", "Zoë Müller"]);
    expect(found({ all: [text("zoe"), { filter: { field: "name", op: "eq", value: "zoe miller" } }] })).toEqual([
      "zoe miller",
    ]);
    const [anna] = store.find(keepers, { name: "Anna-Lena Zoeller" });
    expect(found(text("zoe"), { ids: [anna?.id] })).toEqual(["Anna-Lena Zoeller"]);
    const first = store.page(keepers, { search: text("zoe"), sort: "name", limit: 2 });
    expect(first).toMatchObject({ total: 3, partial: true, previous: null });
    const second = store.page(keepers, { search: text("zoe"), sort: "name", limit: 2, start: first.next as string });
    expect(second.rows.map(({ name }) => name)).toEqual(["Zoë Müller"]);
    expect(() => store.page(keepers, { search: text("anna"), sort: "name", start: first.next as string })).toThrow(
      "Field start",
    );
  });

  it("reflects changes and deletions at once, except rolled back ones", async () => {
    await fill();
    const [zoe] = store.find(keepers, { name: "zoe miller" });
    const id = zoe?.id ?? "";
    await store.update(keepers, id, { name: "Renamed" }, everybody);
    expect(found(text("miller"))).toEqual([]);
    expect(found(text("renamed"))).toEqual(["Renamed"]);
    const undone = store.write((tx) => {
      tx.update(keepers, id, { name: "Undone" }, everybody);
      throw new Error("stop");
    });
    await expect(undone).rejects.toThrow("stop");
    expect(found(text("undone"))).toEqual([]);
    expect(found(text("renamed"))).toEqual(["Renamed"]);
    await store.remove(keepers, id, everybody);
    expect(found(text("renamed"))).toEqual([]);
    // A new row may get the key of one that is gone.
    await make(["Late comer"]);
    expect(found(text("renamed"))).toEqual([]);
    expect(found(text("late"))).toEqual(["Late comer"]);
  });

  it("returns only visible rows", async () => {
    await fill();
    const visible = { sql: "t.name < ?", params: ["a"] };
    const scope = { ...everybody.scope, visible: () => visible };
    expect(store.page(keepers, { search: text("zoe"), scope }).total).toBe(2);
  });
});

it("finds rows of a database without an index at once and indexes them during later writes", async () => {
  const dataDir = makeTempDir();
  open(dataDir);
  await make(["Zoë", ...filler, ...filler.map((name) => `${name} more`)]);
  await store.close();
  const db = new Database(join(dataDir, "carillon.db"));
  db.exec("DROP TABLE keepers__search; DELETE FROM search_pending");
  db.close();
  open(dataDir);
  expect(pending()).toBe(601);
  expect(found(text("zoe"))).toEqual(["Zoë"]);
  await store.write(() => undefined);
  while (pending() >= 256) await new Promise((resolve) => setImmediate(resolve));
  expect(found(text("zoe"))).toEqual(["Zoë"]);
  expect(found(text("filler 29 m"))).toEqual(["Filler 29 more"]);
});

it("recreates an index of an earlier form and finds rows meanwhile", async () => {
  const dataDir = makeTempDir();
  open(dataDir);
  await make(["Zoë", ...filler]);
  await store.close();
  const db = new Database(join(dataDir, "carillon.db"));
  db.exec(`DROP TABLE keepers__search; DELETE FROM search_pending;
    CREATE VIRTUAL TABLE keepers__search USING fts5("name",
        content='', contentless_delete=1, detail=column, tokenize='unicode61 remove_diacritics 2');
    INSERT INTO keepers__search (rowid, name) SELECT pk, name FROM keepers`);
  db.close();
  open(dataDir);
  expect(pending()).toBe(301);
  expect(found(text("z"))).toEqual(["Zoë"]);
  while (pending() >= 256) await store.write(() => undefined);
  expect(found(text("z"))).toEqual(["Zoë"]);
  await store.close();
  open(dataDir);
  expect(pending()).toBeLessThan(256);
});

it("searches only the fields of the resource", async () => {
  open();
  await store.create(rooms, { name: "Hall", kind: "hall", pin: "secret-pin", tags: ["tag"] }, everybody);
  const rowsFor = (words: string) => store.page(rooms, { search: text(words) }).total;
  expect([rowsFor("hall"), rowsFor("secret"), rowsFor("tag"), rowsFor("v1")]).toEqual([1, 0, 0, 0]);
});

describe("a search of many words", () => {
  /** Numbers of a sequence that looks random and is the same in each run. */
  function sequence(seed: number): (below: number) => number {
    let state = seed;
    return (below) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
  }

  const WORDS = ["zoe", "Zoë", "anna", "an", "10:30", "o'neil", '"', "AND", "or", "名前", "*", "müller", "x-ray", ""];

  function tree(next: (below: number) => number, depth: number): SearchQuery {
    const kind = depth === 0 ? 0 : next(3);
    if (kind === 0) {
      const words = Array.from({ length: 1 + next(2) }, () => WORDS[next(WORDS.length)]).join(" ");
      return text(words, next(4) === 0 ? "name" : null);
    }
    const parts = Array.from({ length: 1 + next(3) }, () => tree(next, depth - 1));
    return kind === 1 ? { all: parts } : { any: parts };
  }

  /** What a row must hold, word by word. */
  function matches(search: SearchQuery, name: string): boolean {
    if ("all" in search) return search.all.every((part) => matches(part, name));
    if ("any" in search) return search.any.some((part) => matches(part, name));
    if (!("text" in search)) return false;
    const words = tokenizeSearchText(search.text);
    const tokens = tokenizeSearchText(name);
    return (
      words.length > 0 &&
      words.every((word, at) =>
        tokens.some((token) => (at === words.length - 1 ? token.startsWith(word) : token === word)),
      )
    );
  }

  it.each([
    ["indexed", 300],
    ["pending", 0],
  ])("finds what its words say, in %s rows", async (_what, more) => {
    open();
    const next = sequence(7);
    const names = Array.from({ length: 60 }, (_, at) =>
      [...Array.from({ length: 3 }, () => WORDS[next(WORDS.length)]), `n${at}`].join(" "),
    );
    await make([...names, ...filler.slice(0, more)]);
    for (let round = 0; round < 300; round++) {
      const search = tree(next, 3);
      const expected = names.filter((name) => matches(search, name)).sort();
      expect([search, found(search).sort()]).toEqual([search, expected]);
      expect(store.page(keepers, { search, limit: 1 }).total).toBe(expected.length);
    }
  });
});
