import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../../../../src/console/web/api/client.ts";
import { draftableNames, readDraft, removeDraft, storeDraft } from "../../../../src/console/web/ui/form/form-drafts.ts";
import { conflictsAfter } from "../../../../src/console/web/ui/form/form-fields.ts";

const DAY_MS = 86_400_000;

function storage() {
  const items = new Map<string, string>();
  return {
    items,
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, text: string) => void items.set(name, text),
    removeItem: (name: string) => void items.delete(name),
    key: (index: number) => [...items.keys()][index] ?? null,
    get length() {
      return items.size;
    },
  };
}

const place = (key: string, ...names: string[]) => ({ key, names: new Set(names) });

describe("unsaved input in the browser", () => {
  it("never holds what the API only takes, at any depth, nor files and objects of unknown content", () => {
    const schema: JsonSchema = {
      properties: {
        name: { type: "string" },
        password: { type: "string", writeOnly: true },
        config: { type: "object", properties: { host: { type: "string" }, key: { type: "string", writeOnly: true } } },
        accounts: { type: "array", items: { type: "object", properties: { pin: { writeOnly: true } } } },
        maybe: { anyOf: [{ type: "null" }, { type: "string", writeOnly: true }] },
        picture: { type: "string", format: "binary" },
        anything: { type: "object" },
        rings: { type: "array", items: { type: "object", properties: { time: { type: "string" } } } },
      },
    };
    expect([...draftableNames(schema)].sort()).toEqual(["name", "rings"]);
    expect([...draftableNames(undefined)]).toEqual([]);
  });

  it("comes back as it was typed, without what may not be kept", () => {
    const kept = storage();
    const draft = { savedAt: 5, before: { name: "a", password: "x" }, values: { name: "b", password: "y" } };
    storeDraft(kept, place("me row", "name"), draft);
    expect(JSON.stringify([...kept.items])).not.toContain("password");
    expect(readDraft(kept, place("me row", "name"), 6)).toEqual({
      savedAt: 5,
      before: { name: "a" },
      values: { name: "b" },
    });
    expect(readDraft(kept, place("another row", "name"), 6)).toBeNull();
    removeDraft(kept, "me row");
    expect(kept.items.size).toBe(0);
  });

  it("is forgotten after a week, and is bounded in number and size", () => {
    const kept = storage();
    const draft = (savedAt: number, text: string) => ({ savedAt, before: {}, values: { text } });
    storeDraft(kept, place("old", "text"), draft(0, "x"));
    expect(readDraft(kept, place("old", "text"), 7 * DAY_MS)).not.toBeNull();
    expect(readDraft(kept, place("old", "text"), 7 * DAY_MS + 1)).toBeNull();
    for (let number = 1; number <= 30; number++) storeDraft(kept, place(`${number}`, "text"), draft(number, "x"));
    expect(kept.items.size).toBe(20);
    expect(readDraft(kept, place("11", "text"), 31)).not.toBeNull();
    expect(readDraft(kept, place("10", "text"), 31)).toBeNull();
    storeDraft(kept, place("30", "text"), draft(31, "x".repeat(70_000)));
    expect(readDraft(kept, place("30", "text"), 31)).toBeNull();
  });

  it("ignores what it cannot read, and works where the browser stores nothing", () => {
    const kept = storage();
    kept.items.set("carillon.draft broken", "{");
    kept.items.set("carillon.draft other", '{"savedAt":"soon"}');
    expect(readDraft(kept, place("broken", "text"), 1)).toBeNull();
    expect(readDraft(kept, place("other", "text"), 1)).toBeNull();
    const full = {
      ...storage(),
      setItem: () => {
        throw new DOMException("full", "QuotaExceededError");
      },
    };
    expect(() =>
      storeDraft(full, place("row", "text"), { savedAt: 1, before: {}, values: { text: "x" } }),
    ).not.toThrow();
  });
});

describe("conflicts of a form with changes by others", () => {
  const none = new Map<string, unknown>();

  it.each([
    ["only I changed it", { name: "mine" }, { name: "old" }, { name: "old" }, {}],
    ["only they changed it", { name: "old" }, { name: "old" }, { name: "theirs" }, {}],
    ["both changed it to the same", { name: "new" }, { name: "old" }, { name: "new" }, {}],
    ["both changed it", { name: "mine" }, { name: "old" }, { name: "theirs" }, { name: "theirs" }],
    ["they emptied what I changed", { name: "mine" }, { name: "old" }, { name: null }, { name: null }],
    ["an empty text is none", { name: "" }, { name: "old" }, { name: null }, {}],
    ["lists count as a whole", { ids: ["a", "b"] }, { ids: ["a"] }, { ids: ["a", "c"] }, { ids: ["a", "c"] }],
    ["different fields", { name: "mine", note: "old" }, { name: "old", note: "old" }, { name: "old", note: "new" }, {}],
  ])("%s", (_case, values, before, after, conflicts) => {
    expect(Object.fromEntries(conflictsAfter(none, values, before, after))).toEqual(conflicts);
  });

  it("keep until the field is the same on both sides, with the newest value of the others", () => {
    const earlier = new Map([["name", "theirs"]]);
    const conflictsWith = (name: string) => conflictsAfter(earlier, { name: "mine" }, { name: "theirs" }, { name });
    expect([...conflictsWith("theirs")]).toEqual([["name", "theirs"]]);
    expect([...conflictsWith("later")]).toEqual([["name", "later"]]);
    expect([...conflictsWith("mine")]).toEqual([]);
  });
});
