import { Secret, TOTP } from "otpauth";
import { describe, expect, it } from "vitest";
import { buildTotpUri, generateTotpSecret, verifyTotpCode } from "../../../src/auth/totp.ts";

/** The key of the examples. @source RFC 6238, Appendix B */
const SECRET = Secret.fromLatin1("12345678901234567890").base32;
const codeAt = (seconds: number, secret = SECRET) => new TOTP({ secret }).generate({ timestamp: seconds * 1_000 });

describe("codes of an authenticator app", () => {
  // The last six of the eight digits of the examples. @source RFC 6238, Appendix B
  it.each([
    [59, "287082"],
    [1_111_111_109, "081804"],
    [1_111_111_111, "050471"],
    [1_234_567_890, "005924"],
    [2_000_000_000, "279037"],
    [20_000_000_000, "353130"],
  ])("are accepted as the standard has them: at %i s", (seconds, code) => {
    expect(verifyTotpCode(SECRET, code, seconds * 1_000, null)).toBe(Math.floor(seconds / 30));
    expect(verifyTotpCode(generateTotpSecret(), code, seconds * 1_000, null)).toBeNull();
  });

  it("are accepted one step before and after, and not two", () => {
    const now = 1_700_000_010_000;
    const steps = [-2, -1, 0, 1, 2].map((step) => verifyTotpCode(SECRET, codeAt(now / 1_000 + step * 30), now, null));
    const present = Math.floor(now / 30_000);
    expect(steps).toEqual([null, present - 1, present, present + 1, null]);
  });

  it("are accepted once: not again, nor an earlier one", () => {
    const now = 1_700_000_010_000;
    const present = Math.floor(now / 30_000);
    const at = (offset: number, last: number) => verifyTotpCode(SECRET, codeAt(now / 1_000 + offset * 30), now, last);
    expect([at(0, present), at(-1, present), at(1, present)]).toEqual([null, null, present + 1]);
    expect([at(0, present - 1), at(1, present + 1)]).toEqual([present, null]);
  });

  it("do not wait for a step that a wrong clock recorded in the future", () => {
    const now = 1_700_000_010_000;
    const present = Math.floor(now / 30_000);
    expect(verifyTotpCode(SECRET, codeAt(now / 1_000), now, present + 1_000_000)).toBe(present);
  });

  it.each(["", "12345", "1234567", "12345a", "１２３４５６", "-12345", " 12345", "1e5000", "٠١٢٣٤٥", "😀😀😀"])(
    "are refused, not failed at, for %j",
    (code) => {
      expect(verifyTotpCode(SECRET, code, 59_000, null)).toBeNull();
    },
  );

  it("come from a key of 160 bits, whose address apps read", () => {
    const secret = generateTotpSecret();
    expect(Secret.fromBase32(secret).bytes).toHaveLength(20);
    expect(generateTotpSecret()).not.toBe(secret);
    const uri = new URL(buildTotpUri(secret, "School: North (10.0.0.1:8080)", "ann@example.org"));
    expect([uri.protocol, uri.host]).toEqual(["otpauth:", "totp"]);
    expect(decodeURIComponent(uri.pathname)).toBe("/School  North (10.0.0.1 8080):ann@example.org");
    expect(Object.fromEntries(uri.searchParams)).toMatchObject({
      ...{ secret, issuer: "School  North (10.0.0.1 8080)", algorithm: "SHA1", digits: "6", period: "30" },
    });
  });
});
