import fc from "fast-check";
import { v5 } from "uuid";
import { describe, expect, it } from "vitest";
import { derivedId, isUuid, newId } from "../../../src/lib/ids.ts";

describe("ids", () => {
  it("creates version 7 ids that sort by creation time", () => {
    const ids = Array.from({ length: 1_000 }, newId);
    expect(new Set(ids).size).toBe(1_000);
    expect([...ids].sort()).toEqual(ids);
    for (const id of ids) expect(id[14]).toBe("7");
  });

  it("derives the same id from the same parts and another one from others", () => {
    expect(derivedId("ring", "a", "1")).toBe(derivedId("ring", "a", "1"));
    expect(derivedId("ring", "a", "1")).not.toBe(derivedId("ring", "a", "2"));
    expect(derivedId("x")[14]).toBe("5");
    expect(isUuid(derivedId("x"))).toBe(true);
    const namespace = "6f0a3c1e-6a55-5c0e-9d58-0d3c6f6b7a11";
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (fact) => derivedId("a", fact) === v5(`a/${fact}`, namespace)),
    );
  });

  it("accepts every RFC 9562 text form in either case", () => {
    for (const id of [
      "00000000-0000-0000-0000-000000000000",
      "ffffffff-ffff-ffff-ffff-ffffffffffff",
      "C232AB00-9414-11EC-B3C8-9F6BDECED846",
      "019a8f0e-7f6c-7d3a-9b1e-2f0c4a5d6e7f",
    ]) {
      expect(isUuid(id)).toBe(true);
    }
    fc.assert(fc.property(fc.uuid(), (id) => isUuid(id) && isUuid(id.toUpperCase())));
  });

  it("rejects anything else, including surrounding blanks", () => {
    const good = "019a8f0e-7f6c-7d3a-9b1e-2f0c4a5d6e7f";
    for (const value of [`${good}\n`, ` ${good}`, good.replaceAll("-", ""), `{${good}}`, good.slice(1), "", null, 7]) {
      expect(isUuid(value)).toBe(false);
    }
  });
});
