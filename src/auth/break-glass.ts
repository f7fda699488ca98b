import { ConflictError } from "../lib/errors.ts";
import users from "../resources/people/users.ts";
import type { StoreReader } from "../store/store.ts";
import { canLogIn } from "./account-lock.ts";
import { isBuiltInEnabled } from "./identity-providers.ts";

/**
 * Refuses the step that leaves nobody who could log in when other identity providers fail: while the built-in one is not
 * enabled, a member of a super group has a password and `breakGlass`, and is not locked. Throws ConflictError.
 */
export function assertBreakGlassAccount(tx: StoreReader, now: number): void {
  if (isBuiltInEnabled(tx)) return;
  const members = tx.all<{ pk: number }>(
    `SELECT DISTINCT u.pk FROM security_group_members m JOIN security_groups g ON g.pk = m.security_group_pk
     JOIN users u ON u.pk = m.user_pk WHERE g.super_group = 1 AND u.break_glass = 1 AND u.password_hash IS NOT NULL`,
  );
  const pks = members.map(({ pk }) => pk);
  if (tx.getByPks(users, pks).some((user) => canLogIn(user, now))) return;
  throw new ConflictError(
    "While the built-in log-in is off, a member of a super group with a password must have breakGlass, so that somebody gets in when the other providers fail.",
    "breakGlass",
  );
}
