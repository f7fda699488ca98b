import { readClaimTexts } from "./claim-values.ts";

type Entry = Readonly<Record<string, unknown>> & { readonly dn: string };

/** Attributes that name the primary group, which lists none of its members. */
export const PRIMARY_GROUP_ATTRIBUTES = ["objectSid", "primaryGroupID"];

/**
 * The account name of `name@domain`; null for another form. Each account may log in so, though the directory stores no
 * userPrincipalName for most. @source Active Directory, implicit user principal name
 */
export function implicitAccountName(login: string): { name: string; domain: string } | null {
  const [, name, domain] = /^([^@]+)@([^@\s]+)$/.exec(login) ?? [];
  return name === undefined || domain === undefined ? null : { name, domain: domain.toLowerCase() };
}

/** The DNS name of the domain that an entry is in: `school.test` for `CN=ann,DC=school,DC=test`. */
export function domainOf({ dn }: Entry): string {
  const parts = dn.split(/(?<!\\),/).flatMap((part) => /^\s*dc=(.+?)\s*$/i.exec(part)?.[1] ?? []);
  return parts.join(".").toLowerCase();
}

/** The security id of a user's primary group, such as S-1-5-21-1-2-3-513; null if the entry has none. */
export function primaryGroupSid(entry: Entry): string | null {
  const [group] = readClaimTexts(entry.primaryGroupID);
  const domain = readSid(entry)?.replace(/-\d+$/, "");
  return domain === undefined || group === undefined || !/^\d{1,10}$/.test(group) ? null : `${domain}-${group}`;
}

/** Domain Users: all are in it, so groups around it are not looked up per user. */
export function isDefaultPrimaryGroup(sid: string | null): boolean {
  return sid?.endsWith("-513") ?? false;
}

/** The security id as text; null if the entry has none. @source Microsoft, [MS-DTYP] section 2.4.2 */
export function readSid(entry: Entry): string | null {
  const sid = [entry.objectSid].flat()[0];
  if (!Buffer.isBuffer(sid)) return null;
  // Revision, count, authority of 6 bytes, then parts of 4 bytes.
  const count = sid[1] ?? 0;
  if (sid[0] !== 1 || count < 2 || sid.length !== 8 + 4 * count) return null;
  const parts = Array.from({ length: count }, (_none, at) => sid.readUInt32LE(8 + 4 * at));
  return ["S-1", sid.readUIntBE(2, 6), ...parts].join("-");
}
