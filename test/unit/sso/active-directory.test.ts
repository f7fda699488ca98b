import { describe, expect, it } from "vitest";
import {
  domainOf,
  implicitAccountName,
  isDefaultPrimaryGroup,
  primaryGroupSid,
  readSid,
} from "../../../src/sso/active-directory.ts";

const SID = Buffer.from("010500000000000515000000010000000200000003000000e8030000", "hex");

describe("Active Directory", () => {
  it.each([
    ["ann@school.test", { name: "ann", domain: "school.test" }],
    ["Ann.Ash@SCHOOL.test", { name: "Ann.Ash", domain: "school.test" }],
    ["ann", null],
    ["@school.test", null],
    ["ann@", null],
    ["a@b@school.test", null],
    ["ann@school test", null],
  ])("reads the account name of %s", (login, name) => {
    expect(implicitAccountName(login)).toEqual(name);
  });

  it.each([
    ["CN=ann,OU=people,DC=school,DC=test", "school.test"],
    ["cn=ann,dc=Sub, dc=School ,dc=Test", "sub.school.test"],
    ["CN=ann\\,DC=other,OU=people,DC=school,DC=test", "school.test"],
    ["uid=ann,o=school", ""],
  ])("reads the domain of %s", (dn, domain) => {
    expect(domainOf({ dn })).toBe(domain);
  });

  it.each([
    ["513", "S-1-5-21-1-2-3-513"],
    ["1105", "S-1-5-21-1-2-3-1105"],
    ["1)(x=*", null],
    [undefined, null],
  ])("reads the primary group %s", (primaryGroupID, sid) => {
    expect(primaryGroupSid({ dn: "", objectSid: SID, primaryGroupID })).toBe(sid);
  });

  it.each([
    ["none", undefined],
    ["a text", "S-1-5"],
    ["one that is cut off", SID.subarray(0, 20)],
    ["one of another revision", Buffer.from([2, ...SID.subarray(1)])],
    ["an empty one", Buffer.alloc(0)],
  ])("reads no security id from %s", (_what, objectSid) => {
    expect(readSid({ dn: "", objectSid })).toBeNull();
    expect(primaryGroupSid({ dn: "", objectSid, primaryGroupID: "513" })).toBeNull();
  });

  it("knows the group that all are in", () => {
    expect([readSid({ dn: "", objectSid: SID }), isDefaultPrimaryGroup("S-1-5-21-1-2-3-513")]).toEqual([
      "S-1-5-21-1-2-3-1000",
      true,
    ]);
    expect([isDefaultPrimaryGroup("S-1-5-21-1-2-3-1513"), isDefaultPrimaryGroup(null)]).toEqual([false, false]);
  });
});
