/** Lock of an account, epoch ms; without an end it lasts forever, without a start it has always held. */
export interface AccountLock {
  start?: number | null;
  end?: number | null;
}

/** True while a lock holds: from its start (inclusive) to its end (exclusive). Null is no lock. */
export function isAccountLocked(lock: AccountLock | null, now: number): boolean {
  if (lock === null) return false;
  return (lock.start ?? Number.NEGATIVE_INFINITY) <= now && now < (lock.end ?? Number.POSITIVE_INFINITY);
}

/**
 * True when the account can log in now and stays unlocked: a lock that starts later counts as locked, because it starts
 * without further action.
 */
export function canLogIn({ email, lock }: { email: string | null; lock: AccountLock | null }, now: number): boolean {
  return email !== null && (lock === null || (lock.end ?? Number.POSITIVE_INFINITY) <= now);
}
