import { ConflictError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type users from "../resources/people/users.ts";
import type { RowMutation } from "../store/store.ts";

/**
 * Invariants of users provisioned by SCIM, for every write: no local password is stored, and a user deactivated in the
 * directory stays locked without an end. Throws ConflictError.
 */
export function checkProvisionedUser({ after, given }: RowMutation<typeof users>, now: number): void {
  if (after?.source !== "scim") return;
  const { passwordHash, scimActive, lock } = after;
  if (passwordHash !== null) {
    throw new ConflictError(
      sentence("conflict.a-password-is-not-allowed-the-directory-that-provisions-this"),
      "password",
    );
  }
  // Only when the lock is written: otherwise a clock that steps back would block every other change.
  if (!given.has("lock")) return;
  const isLocked = lock !== null && (lock.end ?? null) === null && (lock.start ?? now) <= now;
  if (scimActive === 0 && !isLocked)
    throw new ConflictError(sentence("conflict.the-user-must-stay-locked-the-directory-has-deactivated-the"), "lock");
}
