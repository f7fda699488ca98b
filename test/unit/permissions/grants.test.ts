import { describe, expect, it } from "vitest";
import { compileGrants, isPathPattern } from "../../../src/permissions/grants.ts";
import type { Method } from "../../../src/schema/resource.ts";

const A = "0190a1b2-0000-7000-8000-00000000000a";
const B = "0190a1b2-0000-7000-8000-00000000000b";

/** Grants as `verb spec`, requests as `method path`. */
function allows(grants: string[], request: string): boolean {
  const split = (text: string) => text.split(" ") as [Method, string];
  const compiled = compileGrants(grants.map(split).map(([verb, spec]) => ({ verb, spec })));
  return compiled.allows(...split(request));
}

describe("grants", () => {
  it.each([
    ["get /users/*", `get /users/${A}`],
    ["get /users/*", "get /users"],
    [`get /users/${A}`, "get /users"],
    [`get /users/${A}`, `get /users/${A.toUpperCase()}`],
    ["get /users/*/devices/*", `get /users/${A}/devices`],
    ["get /users/*/devices/*", `get /users/${A}/devices/${B}`],
    [`get /users/${A}/devices/*`, `get /users/${A}/devices`],
    ["post /users", "post /users"],
    ["post /users/*", "post /users"],
    ["post /users/*/devices", `post /users/${A}/devices`],
    ["post /users/*/devices/*", `post /users/${A}/devices`],
    ["post /users/*/clone", `post /users/${A}/clone`],
    ["put /users/*", `put /users/${A}`],
    ["delete /users/*", `delete /users/${A}`],
    ["get /session", "get /session"],
  ])("%s covers %s", (grant, request) => {
    expect(allows([grant], request)).toBe(true);
  });

  it.each([
    ["get /users/*", `get /users/${A}/devices`],
    ["get /users/*", `get /users/${A}/devices/${B}`],
    ["get /users/*", `put /users/${A}`],
    ["get /users/*", "post /users"],
    ["get /users/*", `get /distribution-lists/${A}`],
    [`get /users/${A}`, `get /users/${B}`],
    [`get /users/${A}/devices/*`, `get /users/${B}/devices`],
    ["get /users/*/devices/*", `get /users/${A}`],
    ["get /users/*/devices/*", "get /users"],
    ["get /users/*/devices", `get /users/${A}`],
    ["get /users", `get /users/${A}`],
    ["put /users/*", "put /users"],
    ["delete /users/*", "delete /users"],
    ["delete /users", `delete /users/${A}`],
    ["post /users", `post /users/${A}/clone`],
    ["post /users/*", `post /users/${A}/clone`],
    ["get /users/*", "get /"],
    ["get /users/*", "get "],
  ])("%s does not cover %s", (grant, request) => {
    expect(allows([grant], request)).toBe(false);
  });

  it("add up", () => {
    const grants = ["get /users/*", "put /users/*", `delete /users/${A}`];
    expect(allows(grants, `delete /users/${A}`)).toBe(true);
    expect(allows(grants, `delete /users/${B}`)).toBe(false);
    expect(allows([], "get /users")).toBe(false);
  });

  it("try the wildcard branch when the named one fails", () => {
    expect(allows([`get /users/${A}/tokens/*`, "get /users/*/devices/*"], `get /users/${A}/devices/${B}`)).toBe(true);
  });
});

describe("specs", () => {
  it.each(["/users", "/users/*", "/users/*/devices/*", `/users/${A}`, "/x/*/clone", "/onprem-things/*"])(
    "accepts %s",
    (spec) => {
      expect(isPathPattern(spec)).toBe(true);
    },
  );

  it.each([
    "",
    "/",
    "users/*",
    "/users/",
    "/*",
    "/*/devices",
    "//users",
    "/users/**",
    "/users/*x",
    "/users?x=1",
    "/a b",
    "/users/*\n",
  ])("rejects %j", (spec) => {
    expect(isPathPattern(spec)).toBe(false);
  });
});
