import type { Method } from "../schema/resource.ts";
import { segmentsOf } from "./grants.ts";

/** What the scopes of a token leave of its user's rights. */
export interface Narrowing {
  /** Nothing that was given to the user counts, only what every user may do with its own things. */
  ownOnly: boolean;
  /** For a path that is asked for, or a pattern of such paths. */
  allows(method: Method, path: string): boolean;
}

/**
 * The scope of devices that are logged in by an invitation: of what every user may do, what concerns its messages, its
 * devices and the session. No application can ask for it. own choice
 */
export const OWN_THINGS = "urn:service:own-things";
/** What lies below a user that its devices need. */
const FOR_DEVICES: ReadonlySet<string> = new Set(["notifications", "devices", "opt-outs"]);

const SCOPE = /^urn:service:([a-z0-9-]+):(read|write)$/;

/**
 * Reads scopes such as `urn:service:users:read`: read allows get, write allows all else. What is no such scope
 * (`offline_access`) allows nothing; null narrows nothing. @source decisions.md 3; interfaces.md, Who sees and may do what
 */
export function readScopes(scopes: readonly string[] | null): Narrowing | null {
  if (scopes === null) return null;
  if (scopes.includes(OWN_THINGS)) {
    return { ownOnly: true, allows: (_method, path) => isOfDevices(path) };
  }
  const allowed = new Set(scopes.filter((scope) => SCOPE.test(scope)));
  return {
    ownOnly: false,
    allows: (method, path) =>
      allowed.has(`urn:service:${segmentsOf(path)[0] ?? ""}:${method === "get" ? "read" : "write"}`),
  };
}

function isOfDevices(path: string): boolean {
  const [first, , below] = segmentsOf(path);
  return first === "session" || (first === "users" && (below === undefined || FOR_DEVICES.has(below)));
}
