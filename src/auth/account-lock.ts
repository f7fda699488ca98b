/** When an account is locked, epoch ms; a missing end means for ever, a missing start since ever. */
export interface AccountLock {
  start?: number | null;
  end?: number | null;
}

/** True while a lock holds: from its start (included) to its end (excluded). Null is no lock. */
export function isAccountLocked(lock: AccountLock | null, now: number): boolean {
  if (lock === null) return false;
  return (lock.start ?? Number.NEGATIVE_INFINITY) <= now && now < (lock.end ?? Number.POSITIVE_INFINITY);
}

/** Whether an account is never shut out from now on. own choice: a lock that only begins later counts too, since it begins by itself. */
export function canLogIn({ email, lock }: { email: string | null; lock: AccountLock | null }, now: number): boolean {
  return email !== null && (lock === null || (lock.end ?? Number.POSITIVE_INFINITY) <= now);
}
