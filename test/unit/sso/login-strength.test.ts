import { describe, expect, it } from "vitest";
import type { IdentityProviderRow } from "../../../src/auth/identity-providers.ts";
import { assertLoginStrength, type LoginStrength } from "../../../src/sso/login-strength.ts";

const NOW = Date.parse("2026-11-29T12:00:00Z");
const NOTHING: LoginStrength = { levels: [], methods: [], authenticatedAt: null };

type Required = Partial<Pick<IdentityProviderRow, "requiredAcr" | "requiredAmr" | "maxLoginAgeInSecs">>;

function accepts(required: Required, said: Partial<LoginStrength>): boolean {
  const none = { requiredAcr: null, requiredAmr: null, maxLoginAgeInSecs: null, clockToleranceInSecs: 60 };
  try {
    assertLoginStrength({ ...none, ...required } as IdentityProviderRow, { ...NOTHING, ...said }, NOW);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: "strength" });
    return false;
  }
}

const ago = (seconds: number): number => NOW - seconds * 1_000;

describe("the strength of a login at a provider", () => {
  it.each<[string, Required, Partial<LoginStrength>, boolean]>([
    ["nothing required", {}, {}, true],
    ["blank requirements", { requiredAcr: " ", requiredAmr: "" }, {}, true],
    ["the level", { requiredAcr: "mfa" }, { levels: ["mfa"] }, true],
    ["one of two levels", { requiredAcr: "phr  mfa" }, { levels: ["mfa"] }, true],
    ["another level", { requiredAcr: "phr mfa" }, { levels: ["pwd"] }, false],
    ["a level in other letters", { requiredAcr: "mfa" }, { levels: ["MFA"] }, false],
    ["no level", { requiredAcr: "mfa" }, { methods: ["mfa"] }, false],
    ["all methods", { requiredAmr: "pwd otp" }, { methods: ["otp", "sms", "pwd"] }, true],
    ["one of two methods", { requiredAmr: "pwd otp" }, { methods: ["pwd"] }, false],
    ["no methods", { requiredAmr: "otp" }, { levels: ["otp"] }, false],
    ["a new login", { maxLoginAgeInSecs: 300 }, { authenticatedAt: ago(299) }, true],
    [
      "one that is too old by less than the clocks differ",
      { maxLoginAgeInSecs: 300 },
      { authenticatedAt: ago(360) },
      true,
    ],
    ["one that is too old", { maxLoginAgeInSecs: 300 }, { authenticatedAt: ago(361) }, false],
    ["a login without its time", { maxLoginAgeInSecs: 300 }, {}, false],
    ["an old login where each must be new", { maxLoginAgeInSecs: 0 }, { authenticatedAt: ago(61) }, false],
  ])("is judged for %s", (_what, required, said, wanted) => {
    expect(accepts(required, said)).toBe(wanted);
  });
});
