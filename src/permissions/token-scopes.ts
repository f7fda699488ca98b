import type { Method } from "../schema/resource.ts";
import { splitPath } from "./grants.ts";

/** What the scopes of a token leave of its user's rights. */
export interface TokenScopeLimit {
  /** Nothing that was given to the user counts, only what every user may do with its own things. */
  isImplicitOnly: boolean;
  /** For a path that is asked for, or a pattern of such paths. */
  allows(method: Method, path: string): boolean;
}

/**
 * The scope of devices that are logged in by an invitation: of what every user may do, what concerns its messages, its
 * devices and the session. No application can ask for it. own choice
 */
export const DEVICE_SESSION_SCOPE = "urn:service:own-things";
/** What lies below a user that its devices need. */
const DEVICE_SESSION_PATHS: ReadonlySet<string> = new Set(["notifications", "devices", "opt-outs"]);

const SCOPE_PATTERN = /^urn:service:([a-z0-9-]+):(read|write)$/;

/**
 * Reads scopes such as `urn:service:users:read`: read allows get, write allows all else. What is no such scope
 * (`offline_access`) allows nothing; null narrows nothing. @source docs/decisions/0023-visibility-and-permissions.md, Grants
 */
export function compileTokenScopes(scopes: readonly string[] | null): TokenScopeLimit | null {
  if (scopes === null) return null;
  if (scopes.includes(DEVICE_SESSION_SCOPE)) {
    return { isImplicitOnly: true, allows: (_method, path) => isDeviceSessionPath(path) };
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
