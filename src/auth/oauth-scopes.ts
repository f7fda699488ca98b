import type applications from "../resources/security/applications.ts";
import type { RowOf } from "../schema/resource.ts";
import { OAuthRequestError } from "./oauth-error.ts";

/** The scope that requests a refresh token. */
export const OFFLINE_ACCESS = "offline_access";

const SCOPE_PATTERN = /^(?:offline_access|urn:service:[a-z0-9]+(?:-[a-z0-9]+)*:(?:read|write))$/;

/**
 * True for `offline_access` and `urn:service:<resource>:<read|write>`.
 * @source docs/decisions/0003-authentication.md, OAuth 2
 */
export function isOAuthScope(text: string): boolean {
  return SCOPE_PATTERN.test(text);
}

/**
 * The scope with the neutral word of this interface: programs for other servers write their product word there.
 * @source docs/decisions/0622-product-words-of-other-programs.md
 */
export function neutralScope(text: string): string {
  return text.replace(/^urn:[a-z][a-z0-9-]*:(?=[a-z0-9-]+:(?:read|write)$)/, "urn:service:");
}

/** Parses the `scope` parameter: distinct scopes in order. Throws `invalid_scope`. */
export function parseScopes(text: string | null): string[] {
  const scopes = [...new Set((text ?? "").split(" ").flatMap((word) => (word === "" ? [] : [neutralScope(word)])))];
  const unknown = scopes.find((scope) => !isOAuthScope(scope));
  if (unknown !== undefined)
    throw new OAuthRequestError(
      "invalid_scope",
      "scope must hold offline_access or urn:service:<resource>:<read|write>.",
    );
  return scopes;
}

/**
 * The scopes granted to an application; an empty list means all rights of the user. Without requested scopes it gets
 * all scopes that it may have. Throws `invalid_scope` for a scope that the application does not have.
 */
export function resolveGrantedScopes(
  requested: readonly string[],
  { scopes }: Pick<RowOf<typeof applications>, "scopes">,
): string[] {
  if (requested.length === 0) return [...scopes];
  if (scopes.length > 0 && !requested.every((scope) => scopes.includes(scope))) {
    throw new OAuthRequestError("invalid_scope", "scope: not allowed for this application.");
  }
  return [...requested];
}

/** Scopes as stored with a token; null for all rights of its user. */
export function formatScopes(scopes: readonly string[]): string | null {
  return scopes.length === 0 ? null : scopes.join(" ");
}
