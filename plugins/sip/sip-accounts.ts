import { sentence } from "./sentences.ts";
import type { SipCredentials } from "./user-agent/digest.ts";

/** Account of a device that may register. */
export interface SipAccount extends SipCredentials {
  type: "speakers" | "phones";
}

const LINE = /^(?:(phone)\s+)?([^\s:;,@<>"]{1,64}):(\S.{0,127})$/;

/** Parses accounts, one per line, by name; invalid lines are reported by number, never by content. */
export function parseSipAccounts(lines: string | null): {
  accounts: ReadonlyMap<string, SipAccount>;
  errors: string[];
} {
  const accounts = new Map<string, SipAccount>();
  const errors: string[] = [];
  for (const [at, line] of (lines ?? "").split(/\r?\n/).entries()) {
    if (line.trim() === "") continue;
    const [, phone, user = "", password = ""] = LINE.exec(line.trim()) ?? [];
    if (user === "") errors.push(sentence("account-line", { line: at + 1 }));
    else if (accounts.has(user)) errors.push(sentence("account-twice", { line: at + 1 }));
    else accounts.set(user, { user, password, type: phone ? "phones" : "speakers" });
  }
  return { accounts, errors };
}
