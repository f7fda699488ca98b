import { ConflictError } from "../lib/errors.ts";
import type users from "../resources/people/users.ts";
import type { RowMutation } from "../store/store.ts";

/**
 * What holds of every user that a directory provisions, whoever writes it: no password is kept here, and who is switched off
 * there is locked for good here. Throws ConflictError.
 */
export function checkProvisionedUser({ after, given }: RowMutation<typeof users>, now: number): void {
  if (after?.source !== "scim") return;
  const { passwordHash, scimActive, lock } = after;
  if (passwordHash !== null) {
    throw new ConflictError("The directory that provisions this user keeps its password.", "password");
  }
  // Else a clock that steps back would hold up every other change.
  if (!given.has("lock")) return;
  const isLocked = lock !== null && (lock.end ?? null) === null && (lock.start ?? now) <= now;
  if (scimActive === 0 && !isLocked) throw new ConflictError("The directory has switched this user off.", "lock");
}
