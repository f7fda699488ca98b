import { describe, expect, it } from "vitest";
import { nestPairs, parseBrackets } from "../../../../src/http/body/bracket-parser.ts";

describe("parseBrackets", () => {
  it.each([
    ["", {}],
    ["&&", {}],
    ["a", { a: "" }],
    ["a=1&b=2", { a: "1", b: "2" }],
    ["a=1=2", { a: "1=2" }],
    ["a=x+y%20z%C3%A9", { a: "x y zé" }],
    ["a=%zz", { a: "%zz" }],
    ["a%5Bb%5D=1", { a: { b: "1" } }],
    ["a[b][c]=1&a[b][d]=2", { a: { b: { c: "1", d: "2" } } }],
    ["a[]=1&a[]=2", { a: ["1", "2"] }],
    ["a=1&a=2&a=3", { a: ["1", "2", "3"] }],
    ["a[]=1&a=2", { a: ["1", "2"] }],
    ["a[1]=y&a[0]=x", { a: ["x", "y"] }],
    ["a[7]=x", { a: ["x"] }],
    ["a[0][b]=1&a[0][c]=2&a[1][b]=3", { a: [{ b: "1", c: "2" }, { b: "3" }] }],
    ["a[0]=1&a[b]=2", { a: { 0: "1", b: "2" } }],
    ["a[b][]=1&a[b][]=2", { a: { b: ["1", "2"] } }],
    ["a.b=1", { "a.b": "1" }],
    ["a[][b]=1&a[][c]=2&a[][b]=3", { a: [{ b: "1", c: "2" }, { b: "3" }] }],
    ["a[][b]=1&a[][b]=2&a[][c]=3", { a: [{ b: "1" }, { b: "2", c: "3" }] }],
    ["a[][b][]=1&a[][b][]=2&a[][c]=3&a[][c]=4", { a: [{ b: ["1", "2"], c: "3" }, { c: "4" }] }],
    ["a[][b][c]=1&a[][b][d]=2&a[][b][c]=3", { a: [{ b: { c: "1", d: "2" } }, { b: { c: "3" } }] }],
    ["x[a][][b]=1&x[a][][b]=2&a[][b]=3", { x: { a: [{ b: "1" }, { b: "2" }] }, a: [{ b: "3" }] }],
    ["a[][b][][c]=1&a[][b][][c]=2&a[][d]=3", { a: [{ b: [{ c: "1" }, { c: "2" }], d: "3" }] }],
    ["a[][__proto__][x]=1&a[][x]=2", { a: [{ x: "2" }] }],
    ["__proto__[x]=1&a=2", { a: "2" }],
    ["a[__proto__][x]=1", {}],
    ["a[constructor][prototype][x]=1&__proto__=2", {}],
  ])("%s", (text, value) => {
    expect(parseBrackets(text)).toEqual(value);
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  it.each([
    ["deep", (at: number) => `a${at}${"[b]".repeat(10)}=1`, 450],
    ["numbered", (at: number) => `a[${at}]=1`, 2_500],
    ["of objects in a list", (at: number) => `a[${at}][b]=1`, 1_600],
    ["of objects in a list without numbers", () => "a[][b]=1", 1_600],
  ])("refuses too many of %s", (_what, name, most) => {
    const pairs = Array.from({ length: most }, (_, at) => name(at));
    expect(Object.keys(parseBrackets(pairs.join("&"))).length).toBeGreaterThan(0);
    const more = Array.from({ length: 2 * most }, (_, at) => name(at));
    expect(() => parseBrackets(more.join("&"))).toThrow("At most 5000 nested objects");
  });

  it("is fast for large list indexes", () => {
    const far = Array.from({ length: 1_000 }, (_, at) => `a${at}[99999][99999][99999]=1`).join("&");
    const began = process.cpuUsage();
    expect(parseBrackets(far)).toMatchObject({ a0: [[["1"]]] });
    // Lists that were filled up to there would take minutes; collecting what other tests of the process left can take half a second.
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(5_000);
  });

  it("nests pairs of a multipart body without decoding", () => {
    const pairs = [
      ["a[b]", "1&2=%41"],
      ["c[]", "x+y"],
      ["c[]", ""],
    ] as const;
    expect(nestPairs(pairs)).toEqual({ a: { b: "1&2=%41" }, c: ["x+y", ""] });
  });

  it.each([
    ["more than 10,000", "a=1&".repeat(10_001)],
    ["more than ten levels", `a${"[b]".repeat(11)}=1`],
    ["more than ten levels of lists", `a${"[][b]".repeat(100_000)}=1`],
    ["a text that is an object too", "a=1&a[b]=2"],
    ["an object that is a text too", "a[b]=2&a=1"],
    ["an object that is a list too", "a[b]=2&a[]=1"],
  ])("refuses %s", (_what, text) => {
    expect(() => parseBrackets(text)).toThrow(expect.objectContaining({ type: "invalid-value" }));
  });

  it("keeps 5,000 ids in order", () => {
    const ids = Array.from({ length: 5_000 }, (_, at) => String(at));
    expect(parseBrackets(ids.map((id) => `ids[]=${id}`).join("&"))).toEqual({ ids });
  });
});
