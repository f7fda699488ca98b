import type { PluginRequest, PluginResponse } from "#plugin-api";
import type { Credentials } from "./credentials.ts";
import type { ForeignPushes } from "./foreign-pushes.ts";

/** Answers the phones' question whether a push may be obeyed, and remembers what each was told last. */
export interface Authentication {
  respond(request: PluginRequest): PluginResponse | Promise<PluginResponse>;
  /** What the phone was told since the last `forget`, which comes before each push; null when it did not ask. */
  verdictFor(phone: string): boolean | null;
  forget(phone: string): void;
}

const TEXT = { "Content-Type": "text/plain" };
const YES: PluginResponse = { status: 200, headers: TEXT, body: "AUTHORIZED" };
const NO: PluginResponse = { status: 200, headers: TEXT, body: "UN-AUTHORIZED" };
/**
 * The callback of every push: `GET <url>?UserID=…&Password=…&devicename=SEP…`. Thousands come at once, so it works
 * without waiting, but for pushes that are not ours. Nothing of the query is ever logged: it holds the password. @source protocols.md 3
 */
export function createAuthentication(credentials: Credentials, foreign: Pick<ForeignPushes, "ask">): Authentication {
  /** Of phones that were pushed to, and of no other name: anybody may ask with any, which must neither fill it nor count. */
  const verdicts = new Map<string, boolean | null>();
  return {
    respond({ method, url }) {
      if (method !== "GET") return { status: 405 };
      const query = new URLSearchParams(url.slice(url.indexOf("?") + 1));
      const allowed = credentials.match(query.get("UserID") ?? "", query.get("Password") ?? "");
      const phone = query.get("devicename") ?? "";
      if (verdicts.has(phone)) verdicts.set(phone, allowed);
      if (allowed) return YES;
      return foreign.ask(query).then((isOthers) => (isOthers ? YES : NO));
    },
    verdictFor: (phone) => verdicts.get(phone) ?? null,
    forget: (phone) => void verdicts.set(phone, null),
  };
}
