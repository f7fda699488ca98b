import { FACTOR_SETUP_SCOPE } from "../auth/sessions.ts";
import type { Method } from "../schema/resource.ts";
import { splitPath } from "./grants.ts";

/** The restriction that the scopes of a token put on its user's rights. */
export interface TokenScopeLimit {
  /** True when only the implicit grants apply, not the given rights. */
  isImplicitOnly: boolean;
  /** Accepts a concrete path or a pattern. */
  allows(method: Method, path: string): boolean;
}

/**
 * Scope of devices that logged in by an invitation: the implicit grants for messages, devices and the session.
 * Applications cannot request it.
 */
export const DEVICE_SESSION_SCOPE = "urn:service:own-things";
/** Sub-collections of the user that such a device needs. */
const DEVICE_SESSION_PATHS: ReadonlySet<string> = new Set(["notifications", "devices", "opt-outs"]);

/** What a user without a required second factor needs to set one up. */
const FACTOR_SETUP_PATHS: ReadonlySet<string> = new Set([
  ...["second-factors", "authenticator-app", "passkey-options", "passkeys"],
]);

const SCOPE_PATTERN = /^urn:service:([a-z0-9-]+):(read|write)$/;

/**
 * Compiles scopes such as `urn:service:users:read`: read allows get, write all other methods. Other scopes
 * (`offline_access`) allow nothing; null means no restriction.
 * @source docs/decisions/0023-visibility-and-permissions.md, Grants
 */
export function compileTokenScopes(scopes: readonly string[] | null): TokenScopeLimit | null {
  if (scopes === null) return null;
  if (scopes.includes(DEVICE_SESSION_SCOPE)) {
    return { isImplicitOnly: true, allows: (_method, path) => isDeviceSessionPath(path) };
  }
  if (scopes.includes(FACTOR_SETUP_SCOPE)) {
    return { isImplicitOnly: true, allows: (_method, path) => isFactorSetupPath(path) };
  }
  const allowed = new Set(scopes.filter((scope) => SCOPE_PATTERN.test(scope)));
  return {
    isImplicitOnly: false,
    allows: (method, path) =>
      allowed.has(`urn:service:${splitPath(path)[0] ?? ""}:${method === "get" ? "read" : "write"}`),
  };
}

function isDeviceSessionPath(path: string): boolean {
  const [first, , below] = splitPath(path);
  return first === "session" || (first === "users" && (below === undefined || DEVICE_SESSION_PATHS.has(below)));
}

function isFactorSetupPath(path: string): boolean {
  const [first, , below] = splitPath(path);
  return first === "session" || (first === "users" && (below === undefined || FACTOR_SETUP_PATHS.has(below)));
}
