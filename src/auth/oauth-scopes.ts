import type applications from "../resources/security/applications.ts";
import type { RowOf } from "../schema/resource.ts";
import { OAuthRequestError } from "./oauth-error.ts";

/** The scope that asks for a refresh token beside the access token. */
export const OFFLINE_ACCESS = "offline_access";

const SCOPE_PATTERN = /^(?:offline_access|urn:service:[a-z0-9]+(?:-[a-z0-9]+)*:(?:read|write))$/;

/** True for `offline_access` and `urn:service:<resource>:<read|write>`. @source decisions.md 3 */
export function isOAuthScope(text: string): boolean {
  return SCOPE_PATTERN.test(text);
}

/** The scopes in a parameter, each once, in order; none when it is null. Throws `invalid_scope` for what is none. */
export function parseScopes(text: string | null): string[] {
  const scopes = [...new Set((text ?? "").split(" ").filter((word) => word !== ""))];
  const stranger = scopes.find((scope) => !isOAuthScope(scope));
  if (stranger !== undefined)
    throw new OAuthRequestError("invalid_scope", "The scope names something that is no scope.");
  return scopes;
}

/**
 * What an application gets that asks for `asked`; none means all the rights of the user. own choice: who asks for nothing
 * gets what the application may have at most. Throws `invalid_scope` for more than that.
 */
export function resolveGrantedScopes(
  asked: readonly string[],
  { scopes }: Pick<RowOf<typeof applications>, "scopes">,
): string[] {
  if (asked.length === 0) return [...scopes];
  if (scopes.length > 0 && !asked.every((scope) => scopes.includes(scope))) {
    throw new OAuthRequestError("invalid_scope", "The application may not ask for that scope.");
  }
  return [...asked];
}

/** Scopes as the row of a token holds them; null for all the rights of its user. */
export function formatScopes(scopes: readonly string[]): string | null {
  return scopes.length === 0 ? null : scopes.join(" ");
}
