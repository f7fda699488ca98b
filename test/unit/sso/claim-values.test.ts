import { describe, expect, it } from "vitest";
import { readGroupClaim } from "../../../src/sso/claim-values.ts";
import { createMissingGroups } from "../../../src/sso/missing-groups.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const LINK = "http://schemas.microsoft.com/claims/groups.link";

describe("groups in claims", () => {
  it.each<[Record<string, unknown>, string[]]>([
    [{ groups: ["Staff", "Choir"] }, ["Staff", "Choir"]],
    [{ groups: "Staff" }, ["Staff"]],
    [{ groups: 7 }, ["7"]],
    [{ groups: [] }, []],
    [{ groups: "" }, []],
    [{ groups: [" Staff ", "", null, { id: 1 }] }, ["Staff"]],
    [{ groups: ["Staff"], _claim_names: { address: "src1" } }, ["Staff"]],
    [{ groups: ["Staff"], hasgroups: false }, ["Staff"]],
    // The mark is for another claim: groups are too many, roles are not.
    [{ groups: ["Principal"], hasgroups: true }, ["Principal"]],
    [{ groups: ["Principal"], [LINK]: ["https://graph.example/users/1/getMemberObjects"] }, ["Principal"]],
  ])("are read from %j", (claims, groups) => {
    expect(readGroupClaim(claims, "groups")).toEqual(groups);
  });

  it.each<[Record<string, unknown>]>([
    [{}],
    [{ groups: null }],
    [{ groups: { $ref: "elsewhere" } }],
    [{ groups: true }],
    [{ _claim_names: { groups: "src1" }, _claim_sources: { src1: { endpoint: "https://graph.example" } } }],
    [{ groups: ["Staff"], _claim_names: { groups: "src1" } }],
    [{ groups: [], hasgroups: true }],
    [{ hasgroups: "true" }],
    [{ groups: "", hasgroups: "true" }],
    [{ groups: [], [LINK]: ["https://graph.example/users/1/getMemberObjects"] }],
    [{ [LINK]: ["https://graph.example/users/1/getMemberObjects"] }],
    [{ groups: Array.from({ length: 1_001 }, (_, at) => `Group ${at}`) }],
  ])("are unknown from %j", (claims) => {
    expect(readGroupClaim(claims, "groups")).toBeNull();
  });
});

describe("missing groups", () => {
  it("degrade health until they are sent, for a day at most", () => {
    const clock = createFakeClock();
    const missing = createMissingGroups(clock);
    const campus = { id: "p1", name: "Campus" };
    expect(missing.healthReasons()).toEqual([]);
    for (const user of ["u1", "u2", "u1"]) missing.note(campus, user);
    expect(missing.healthReasons()).toMatchObject([
      {
        level: "yellow",
        code: "groups:p1",
        reason: expect.stringContaining("Campus did not send the groups of 2 users"),
      },
    ]);
    missing.clear(campus, "u1");
    expect(missing.healthReasons()[0]?.reason).toContain("1 user ");
    missing.clear(campus, "u2");
    expect(missing.healthReasons()).toEqual([]);
    missing.note(campus, "u1");
    clock.advanceSync(86_400_000);
    expect(missing.healthReasons()).toEqual([]);
  });
});
