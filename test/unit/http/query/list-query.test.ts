import { describe, expect, it } from "vitest";
import { compileListParameters } from "../../../../src/http/query/list-query.ts";
import { parseQuery } from "../../../../src/http/query/query.ts";
import users from "../../../../src/resources/people/users.ts";
import { keepers, rooms } from "../../store/store-fixture.ts";

const ID = "3F2504E0-4F89-41D3-9A0C-0305E82C3301";
const asked = compileListParameters(rooms);
const ask = (text: string) => asked(parseQuery(text));
const filter = (field: string, op: string, value: unknown) => ({ filters: [{ field, op, value }] });
const words = (text: string, field: string | null = null) => ({ search: { text, field } });

describe("list parameters", () => {
  it.each([
    ["", {}],
    ["no-such-parameter=1", {}],
    ["limit=1000", { limit: 1_000 }],
    ["skip=50000", { skip: 50_000 }],
    ["start=end", { start: "end" }],
    ["start=", {}],
    ["sort=name", { sort: "name" }],
    ["sort=-since", { sort: "-since" }],
    ["sort=created-at", { sort: "createdAt" }],
    [`ids[]=${ID}`, { ids: [ID] }],
    [`ids=${ID}&ids=${ID}`, { ids: [ID, ID] }],
    [`id=${ID}`, { ids: [ID] }],
    ["name=A%20B", filter("name", "eq", "A B")],
    ["name=", filter("name", "eq", null)],
    ["seats=3", filter("seats", "eq", 3)],
    ["seats__gte=3", filter("seats", "gte", 3)],
    ["seats__lt=3", filter("seats", "lt", 3)],
    ["open=true", filter("open", "eq", true)],
    ["open=1", filter("open", "eq", false)],
    ["kind=lab", filter("kind", "eq", "lab")],
    ["since__gt=2026-01-31T00:00:00Z", filter("since", "gt", Date.UTC(2026, 0, 31))],
    ["created-at__lte=2026-01-31", filter("createdAt", "lte", Date.UTC(2026, 0, 31))],
    [`keeper-id=${ID}`, filter("keeperId", "eq", ID.toLowerCase())],
    ["notes=x", {}],
    ["pin=x", {}],
    ["marker=x", {}],
    ["name__gt=x", {}],
    ["hasPlan=true", filter("plan", "set", true)],
    ["has-keeper=no", filter("keeperId", "set", false)],
    ["include-kinds=true", {}],
    ["kinds=lab", filter("kind", "eq", "lab")],
    ["kinds[]=lab&kinds[]=hall", filter("kind", "in", ["lab", "hall"])],
    ['kinds=["lab","hall"]', filter("kind", "in", ["lab", "hall"])],
    [`keeperIds=${ID}&keeperIds=${ID}`, filter("keeperId", "in", [ID.toLowerCase()])],
    ["q=", {}],
    ["q=a%20b", words("a b")],
    ["q=name:a%20b", words("a b", "name")],
    ["q=name:", words("", "name")],
    ["q=10:30", words("10:30")],
    ["q=no-such:thing", words("no-such:thing")],
    ["q=seats:", words("seats:")],
    ["q=pin:x", words("pin:x")],
    ["q=kind:lab", { search: { filter: { field: "kind", op: "eq", value: "lab" } } }],
    ["q=seats__gte:3", { search: { filter: { field: "seats", op: "gte", value: 3 } } }],
    [`q=keeper-id:${ID}`, { search: { filter: { field: "keeperId", op: "eq", value: ID.toLowerCase() } } }],
    ['q={"and":["name:x","a"]}', { search: { all: [words("x", "name").search, words("a").search] } }],
    ['q={"or":["a",{"and":["b"]}]}', { search: { any: [words("a").search, { all: [words("b").search] }] } }],
  ])("%s", (text, wanted) => {
    expect(ask(text)).toEqual({ includeTotal: true, ...wanted });
  });

  it.each([
    "limit=0",
    "limit=1001",
    "limit=ten",
    "limit=1.5",
    "limit=",
    "limit=1&limit=2",
    "skip=-1",
    "hasPlan=",
    "kinds[]=shed",
    "kinds[a]=lab",
    "kinds=[",
    "kinds=[]",
    "kinds=[1]",
    `keeperIds=${JSON.stringify(Array.from({ length: 201 }, () => ID))}`,
    "q[]=a",
    "q=a&q=b",
    "q=kind:shed",
    "q=seats:many",
    "q={",
    "q={}",
    'q={"and":[]}',
    'q={"not":["a"]}',
    'q={"and":["a"],"or":["b"]}',
    'q={"and":"a"}',
    'q={"and":[1]}',
    'q={"__proto__":["a"]}',
    `q=${JSON.stringify({ and: Array.from({ length: 21 }, () => "a") })}`,
    'q={"and":[{"and":[{"and":[{"and":["a"]}]}]}]}',
    `q=${"a".repeat(1_001)}`,
    `q=${"a ".repeat(21)}`,
    "skip=1000001",
    "sort=notes",
    "sort=pin",
    "sort=marker",
    "ids[]=abc",
    "ids[a]=b",
    "seats=many",
    "seats__gt=",
    "kind=shed",
    "since__gt=soon",
    "keeperId=abc",
    "name[a]=b",
  ])("refuses %s", (text) => {
    expect(() => ask(text)).toThrow(expect.objectContaining({ type: "invalid-value" }));
  });

  it.each([
    [`q=${"a".repeat(1_001)}`, "1000 characters"],
    [`q=${"a ".repeat(21)}`, "20 words"],
    [`q=${JSON.stringify({ or: Array.from({ length: 20 }, () => "a") })}`, "20 strings and groups"],
    ['q={"and":[{"or":[{"and":[{"or":["a"]}]}]}]}', "nested at most 3 deep"],
  ])("says which limit %s exceeds", (text, limit) => {
    expect(() => ask(text)).toThrow(limit);
  });

  it("filters by one of several values and by presence", () => {
    const lists = compileListParameters(keepers);
    const ids = `roomIds[]=${ID}&roomIds[]=${ID.replace("3F", "4F")}`;
    expect(lists(parseQuery(ids)).filters).toEqual([
      { field: "roomIds", op: "in", value: [ID.toLowerCase(), ID.toLowerCase().replace("3f", "4f")] },
    ]);
  });
  it("treats includeTypes as types, not as a flag", () => {
    const wanted = [{ field: "type", op: "in", value: ["regular", "application"] }];
    const query = "include-types[]=regular&include-types[]=application&include-domains=yes";
    expect(compileListParameters(users)(parseQuery(query)).filters).toEqual(wanted);
    expect(parseQuery(query)).toMatchObject({ includeDomains: false });
  });
  it("omits the total in either spelling", () => {
    expect(ask("include-total=false").includeTotal).toBe(false);
    expect(ask("includeTotal=false").includeTotal).toBe(false);
    expect(ask("includeTotal=true").includeTotal).toBe(true);
  });
  it("filters lists of references", () => {
    expect(compileListParameters(keepers)(parseQuery(`roomIds=${ID}`))).toMatchObject(
      filter("roomIds", "eq", ID.toLowerCase()),
    );
  });
});
