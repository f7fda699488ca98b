import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_JSON_DEPTH, MAX_OBJECT_MEMBERS, parseUntrustedJson } from "../../../src/schema/untrusted-json.ts";

describe("parseUntrustedJson", () => {
  it("parses like JSON.parse", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 10 }), (text) => {
        expect(parseUntrustedJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });
  it("accepts brackets and quotes in strings", () => {
    const value = { a: "[[[{{{", 'b"': '\\"]', c: "\\" };
    expect(parseUntrustedJson(JSON.stringify(value))).toEqual(value);
  });
  it(`refuses more than ${MAX_JSON_DEPTH} levels`, () => {
    const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
    expect(() => parseUntrustedJson(nested(MAX_JSON_DEPTH))).not.toThrow();
    expect(() => parseUntrustedJson(nested(MAX_JSON_DEPTH + 1))).toThrow(
      expect.objectContaining({ type: "invalid-value" }),
    );
  });
  it(`refuses more than ${MAX_OBJECT_MEMBERS} members in one object`, () => {
    const wide = (members: number) => `{${Array.from({ length: members }, (_, at) => `"${at}":{"x":1}`).join()}}`;
    expect(() => parseUntrustedJson(wide(MAX_OBJECT_MEMBERS))).not.toThrow();
    expect(() => parseUntrustedJson(wide(MAX_OBJECT_MEMBERS + 1))).toThrow();
  });
  it.each(["", "{", '{"a"', '"', "undefined", "{'a':1}", "[1,]", "01", '{"a":1}x'])(
    "refuses %j without repeating it",
    (text) => {
      try {
        parseUntrustedJson(text);
        expect.unreachable();
      } catch (error) {
        expect(error).toMatchObject({ type: "invalid-value", message: "The body is not valid JSON." });
      }
    },
  );
});
