import { ConflictError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import users from "../resources/people/users.ts";
import type { StoreReader } from "../store/store.ts";
import { canLogIn } from "./account-lock.ts";
import { isBuiltInEnabled } from "./identity-providers.ts";

/**
 * Ensures that an administrator can log in when other identity providers fail: while the built-in provider is disabled,
 * at least one member of a super group must have a password and `breakGlass` and must not be locked. Throws
 * ConflictError.
 */
export function assertBreakGlassAccount(tx: StoreReader, now: number): void {
  if (isBuiltInEnabled(tx)) return;
  const members = tx.all<{ pk: number }>(
    `SELECT DISTINCT u.pk FROM security_group_members m JOIN security_groups g ON g.pk = m.security_group_pk
     JOIN users u ON u.pk = m.user_pk WHERE g.super_group = 1 AND u.break_glass = 1 AND u.password_hash IS NOT NULL`,
  );
  const pks = members.map(({ pk }) => pk);
  if (tx.getByPks(users, pks).some((user) => canLogIn(user, now))) return;
  throw new ConflictError(sentence("conflict.while-the-built-in-identity-provider-is-disabled-at-least"), "breakGlass");
}
