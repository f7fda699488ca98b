import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { LoginError } from "./login-error.ts";

/** How and when a provider says that it authenticated a user. */
export interface LoginStrength {
  /** Levels: `acr`, or the authentication context class of SAML. */
  levels: readonly string[];
  /** Methods, `amr`. */
  methods: readonly string[];
  /** Epoch ms; null if the provider does not say it. */
  authenticatedAt: number | null;
}

/** The values of `requiredAcr` or `requiredAmr`. */
export function requiredValues(text: string | null): string[] {
  return text?.split(/\s+/).filter((value) => value !== "") ?? [];
}

/**
 * Throws LoginError `strength` for a login that was weaker or longer ago than the row requires, also if the provider does
 * not say so. @source OpenID Connect Core 1.0 §2, §3.1.2.1; RFC 8176; SAML 2.0 Core §2.7.2; docs/decisions/0623-strength-of-logins.md
 */
export function assertLoginStrength(row: IdentityProviderRow, strength: LoginStrength, now: number): void {
  const levels = requiredValues(row.requiredAcr);
  if (levels.length > 0 && !strength.levels.some((level) => levels.includes(level)))
    throw new LoginError("strength", sentence("login.the-level-of-authentication-is-not-one-that-is-required"));
  if (requiredValues(row.requiredAmr).some((method) => !strength.methods.includes(method)))
    throw new LoginError("strength", sentence("login.a-required-method-of-authentication-was-not-used"));
  if (row.maxLoginAgeInSecs === null) return;
  const oldest = now - (row.maxLoginAgeInSecs + row.clockToleranceInSecs) * 1_000;
  if (strength.authenticatedAt === null || strength.authenticatedAt < oldest)
    throw new LoginError("strength", sentence("login.the-user-authenticated-too-long-ago"));
}
