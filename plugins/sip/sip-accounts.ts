import type { SipCredentials } from "./user-agent/digest.ts";

/** A device that may register. */
export interface SipAccount extends SipCredentials {
  type: "speakers" | "phones";
}

const LINE = /^(?:(phone)\s+)?([^\s:;,@<>"]{1,64}):(\S.{0,127})$/;

/** Reads the accounts, one a line, by name; lines that are none are told by their number, never by what they hold. */
export function parseSipAccounts(lines: string | null): {
  accounts: ReadonlyMap<string, SipAccount>;
  faults: string[];
} {
  const accounts = new Map<string, SipAccount>();
  const faults: string[] = [];
  for (const [at, line] of (lines ?? "").split(/\r?\n/).entries()) {
    if (line.trim() === "") continue;
    const [, phone, user = "", password = ""] = LINE.exec(line.trim()) ?? [];
    if (user === "") faults.push(`accounts: line ${at + 1} is no name:password`);
    else if (accounts.has(user)) faults.push(`accounts: line ${at + 1} repeats a name`);
    else accounts.set(user, { user, password, type: phone ? "phones" : "speakers" });
  }
  return { accounts, faults };
}
