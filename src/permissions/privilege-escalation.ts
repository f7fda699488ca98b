import { forbidden } from "../lib/errors.ts";
import type { ActorContext } from "../store/store.ts";
import type { Rights } from "./rights.ts";
import type { UserScope } from "./user-scope.ts";

/**
 * Refuses what would pass on more than `by` holds; `holders` are the domains of those who get the rights. The system may pass
 * on everything. Throws CallerError `forbidden`.
 */
export function assertCanDelegate(by: ActorContext, rights: Rights, holders: readonly string[]): void {
  if (by.actor.kind === "system") return;
  const scope = by.scope as Partial<UserScope>;
  if (!scope.canDelegate?.(rights, holders)) throw forbidden();
}

/** Refuses what only whoever may do everything may do. Throws CallerError `forbidden`. */
export function assertSuperUser(by: ActorContext): void {
  assertCanDelegate(by, { superUser: true, grants: [] }, []);
}
