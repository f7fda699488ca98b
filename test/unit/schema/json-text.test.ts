import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MOST_LEVELS, MOST_MEMBERS, parseJsonText } from "../../../src/schema/json-text.ts";

describe("JSON from outside", () => {
  it("is what JSON.parse makes of it", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 10 }), (text) => {
        expect(parseJsonText(text)).toEqual(JSON.parse(text));
      }),
    );
  });
  it("may hold brackets and quotes in texts", () => {
    const value = { a: "[[[{{{", 'b"': '\\"]', c: "\\" };
    expect(parseJsonText(JSON.stringify(value))).toEqual(value);
  });
  it(`nests at most ${MOST_LEVELS} levels`, () => {
    const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
    expect(() => parseJsonText(nested(MOST_LEVELS))).not.toThrow();
    expect(() => parseJsonText(nested(MOST_LEVELS + 1))).toThrow(expect.objectContaining({ type: "invalid-value" }));
  });
  it(`has at most ${MOST_MEMBERS} members in one object`, () => {
    const wide = (members: number) => `{${Array.from({ length: members }, (_, at) => `"${at}":{"x":1}`).join()}}`;
    expect(() => parseJsonText(wide(MOST_MEMBERS))).not.toThrow();
    expect(() => parseJsonText(wide(MOST_MEMBERS + 1))).toThrow();
  });
  it.each(["", "{", '{"a"', '"', "undefined", "{'a':1}", "[1,]", "01", '{"a":1}x'])(
    "refuses %j without repeating it",
    (text) => {
      try {
        parseJsonText(text);
        expect.unreachable();
      } catch (error) {
        expect(error).toMatchObject({ type: "invalid-value", message: "The body is not valid JSON." });
      }
    },
  );
});
