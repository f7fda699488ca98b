import { forbidden } from "../lib/errors.ts";
import type { ActorContext } from "../store/store.ts";
import type { Rights } from "./rights.ts";
import type { UserScope } from "./user-scope.ts";

/**
 * Prevents privilege escalation: throws CallerError `forbidden` when `by` would delegate rights that it does not hold.
 * `holders` are the domains of those who get the rights. System actors may delegate everything.
 */
export function assertCanDelegate(by: ActorContext, rights: Rights, holders: readonly string[]): void {
  if (by.actor.kind === "system") return;
  const scope = by.scope as Partial<UserScope>;
  if (!scope.canDelegate?.(rights, holders)) throw forbidden();
}

/** Throws CallerError `forbidden` unless `by` is a super user or the system. */
export function assertSuperUser(by: ActorContext): void {
  assertCanDelegate(by, { superUser: true, grants: [] }, []);
}
