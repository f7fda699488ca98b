import { DAY_MS } from "../lib/durations.ts";
import { readClaimTexts } from "./claim-values.ts";

/** Attributes of an entry by which directories close accounts, and its classes. */
export const ACCOUNT_ATTRIBUTES = [
  ...["objectClass", "userAccountControl", "msDS-UserAccountDisabled", "accountExpires"],
  ...["nsAccountLock", "loginDisabled", "pwdAccountLockedTime", "shadowExpire", "krbPrincipalExpiration"],
];

type Entry = Readonly<Record<string, unknown>>;

/** Bit of `userAccountControl`. @source Active Directory, ACCOUNTDISABLE */
const ACCOUNT_DISABLED = 2;
/** From 1601 to 1970. @source Active Directory, accountExpires: intervals of 100 ns since 1601, 0 and the maximum for never */
const WINDOWS_EPOCH_MS = 11_644_473_600_000n;
const NEVER = [0n, 0x7fff_ffff_ffff_ffffn];
/** A lock without an end. @source draft-behera-ldap-password-policy, pwdAccountLockedTime */
const LOCKED_FOR_GOOD = "000001010000Z";

/**
 * True for an account that the directory has closed: disabled, expired, or locked until an administrator opens it. A lock after
 * wrong passwords is none: it ends by itself, and anybody could cause it. @source
 * docs/decisions/0402-identity-providers.md, Directory sync
 */
export function isClosedAccount(entry: Entry, now: number): boolean {
  const text = (name: string): string | undefined => readClaimTexts(entry[name])[0];
  const isTrue = (name: string): boolean => text(name)?.toLowerCase() === "true";
  if ((Number(text("userAccountControl") ?? 0) & ACCOUNT_DISABLED) !== 0) return true;
  if (["msDS-UserAccountDisabled", "nsAccountLock", "loginDisabled"].some(isTrue)) return true;
  if (text("pwdAccountLockedTime") === LOCKED_FOR_GOOD) return true;
  const ends = [windowsTime(text("accountExpires")), daysTime(text("shadowExpire"))];
  ends.push(generalizedTime(text("krbPrincipalExpiration")));
  return ends.some((end) => end !== null && end <= now);
}

/** Computers of Active Directory are users by their class. */
export function isComputer({ objectClass }: Entry): boolean {
  return readClaimTexts(objectClass).some((name) => name.toLowerCase() === "computer");
}

/** The name without a domain: `SCHOOL\\ann` is `ann`. */
export function withoutDomain(login: string): string {
  return login.replace(/^[^\\@\s]{1,64}\\(?=.)/, "");
}

function windowsTime(text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,19}$/.test(text) || NEVER.includes(BigInt(text))) return null;
  return Number(BigInt(text) / 10_000n - WINDOWS_EPOCH_MS);
}

function daysTime(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) * DAY_MS : null;
}

/** @source RFC 4517, section 3.3.13; only UTC, as directories write it */
function generalizedTime(text: string | undefined): number | null {
  const match = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})?(\d{2})?(?:\.\d+)?Z$/.exec(text ?? "");
  if (!match) return null;
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = match
    .slice(1)
    .map((part) => Number(part ?? 0));
  return Date.UTC(year, month - 1, day, hour, minute, second);
}
