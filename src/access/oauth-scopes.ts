import type { Method } from "../schema/resource.ts";

/** What the scopes of a token leave of its user's rights. */
export interface Narrowing {
  /** `first` is the first segment of the path that is asked for. */
  allows(method: Method, first: string): boolean;
}

const SCOPE = /^urn:service:([a-z0-9-]+):(read|write)$/;

/**
 * Reads scopes such as `urn:service:users:read`: read allows get, write allows all else. What is no such scope
 * (`offline_access`) allows nothing; null narrows nothing. @source decisions.md 3; interfaces.md, Who sees and may do what
 */
export function readScopes(scopes: readonly string[] | null): Narrowing | null {
  if (scopes === null) return null;
  const allowed = new Set(scopes.filter((scope) => SCOPE.test(scope)));
  return {
    allows: (method, first) => allowed.has(`urn:service:${first}:${method === "get" ? "read" : "write"}`),
  };
}
