import { describe, expect, it } from "vitest";
import { isClosedAccount, isComputer, withoutDomain } from "../../../src/sso/directory-accounts.ts";

const NOW = Date.UTC(2026, 10, 27);
/** 2026-11-26 and 2026-11-28 in intervals of 100 ns since 1601. */
const [YESTERDAY, TOMORROW] = [-1, 1].map((days) =>
  String(BigInt(NOW + days * 86_400_000 + 11_644_473_600_000) * 10_000n),
);

describe("an account of a directory", () => {
  it.each([
    [{ userAccountControl: "514" }],
    [{ userAccountControl: "66050" }],
    [{ "msDS-UserAccountDisabled": "TRUE" }],
    [{ accountExpires: YESTERDAY }],
    [{ nsAccountLock: "true" }],
    [{ loginDisabled: "TRUE" }],
    [{ pwdAccountLockedTime: "000001010000Z" }],
    [{ shadowExpire: "1" }],
    [{ shadowExpire: String(NOW / 86_400_000) }],
    [{ krbPrincipalExpiration: "20261126235959Z" }],
    [{ userAccountControl: "512", krbPrincipalExpiration: "2026112600Z" }],
  ])("is closed with %j", (entry) => {
    expect(isClosedAccount(entry, NOW)).toBe(true);
  });

  it.each([
    [{}],
    [{ userAccountControl: "512" }],
    [{ accountExpires: "0" }],
    [{ accountExpires: "9223372036854775807" }],
    [{ accountExpires: TOMORROW }],
    [{ accountExpires: "never" }],
    [{ nsAccountLock: "FALSE" }],
    // Locked after wrong passwords: it ends by itself.
    [{ pwdAccountLockedTime: "20261126120000Z" }],
    [{ shadowExpire: "-1" }],
    [{ shadowExpire: "99999" }],
    [{ krbPrincipalExpiration: "20261128000000Z" }],
    [{ krbPrincipalExpiration: "tomorrow" }],
  ])("is open with %j", (entry) => {
    expect(isClosedAccount(entry, NOW)).toBe(false);
  });

  it("excludes computer accounts", () => {
    expect(isComputer({ objectClass: ["top", "person", "user", "Computer"] })).toBe(true);
    expect(isComputer({ objectClass: ["top", "person", "user"] })).toBe(false);
  });

  it.each([
    ["SCHOOL\\ann", "ann"],
    ["ann", "ann"],
    ["ann@school.example", "ann@school.example"],
    ["a@b\\c", "a@b\\c"],
    ["SCHOOL\\", "SCHOOL\\"],
    ["two words\\ann", "two words\\ann"],
  ])("named %j is looked for as %j", (login, name) => {
    expect(withoutDomain(login)).toBe(name);
  });
});
