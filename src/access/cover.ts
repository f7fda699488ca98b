import { forbidden } from "../base/errors.ts";
import type { By } from "../store/store.ts";
import type { Rights } from "./rights.ts";
import type { UserScope } from "./user-scope.ts";

/**
 * Refuses what would pass on more than `by` holds; `holders` are the domains of those who get the rights. The system may pass
 * on everything. Throws CallerError `forbidden`.
 */
export function requireCover(by: By, rights: Rights, holders: readonly string[]): void {
  if (by.actor.kind === "system") return;
  const scope = by.scope as Partial<UserScope>;
  if (!scope.mayPassOn?.(rights, holders)) throw forbidden();
}

/** Refuses what only whoever may do everything may do. Throws CallerError `forbidden`. */
export function requireSuper(by: By): void {
  requireCover(by, { superUser: true, grants: [] }, []);
}
