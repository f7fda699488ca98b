import type { PluginRequest, PluginResponse } from "#plugin-api";
import type { Credentials } from "./credentials.ts";

/** Answers the phones' question whether a push may be obeyed, and remembers what each was told last. */
export interface Authentication {
  respond(request: PluginRequest): PluginResponse;
  /** What the phone was told since the last `forget`; null when it did not ask. */
  verdictFor(phone: string): boolean | null;
  forget(phone: string): void;
}

const TEXT = { "Content-Type": "text/plain" };
const YES: PluginResponse = { status: 200, headers: TEXT, body: "AUTHORIZED" };
const NO: PluginResponse = { status: 200, headers: TEXT, body: "UN-AUTHORIZED" };
/** own choice: anybody may ask with any name, so what is kept must not grow for ever. */
const MOST_VERDICTS = 50_000;

/**
 * The callback of every push: `GET <url>?UserID=…&Password=…&devicename=SEP…`. Thousands come at once, so it works
 * without waiting. Nothing of the query is ever logged: it holds the password. @source protocols.md 3
 */
export function createAuthentication(credentials: Credentials): Authentication {
  const verdicts = new Map<string, boolean>();
  return {
    respond({ method, url }) {
      if (method !== "GET") return { status: 405 };
      const query = new URLSearchParams(url.slice(url.indexOf("?") + 1));
      const allowed = credentials.match(query.get("UserID") ?? "", query.get("Password") ?? "");
      if (verdicts.size < MOST_VERDICTS) verdicts.set((query.get("devicename") ?? "").slice(0, 64), allowed);
      return allowed ? YES : NO;
    },
    verdictFor: (phone) => verdicts.get(phone) ?? null,
    forget: (phone) => void verdicts.delete(phone),
  };
}
