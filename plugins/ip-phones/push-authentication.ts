import type { PluginRequest, PluginResponse } from "#plugin-api";
import type { PushAuthorizationRelay } from "./push-authorization-relay.ts";
import type { PushCredentials } from "./push-credentials.ts";

/** Answers the phones' question whether a push may be obeyed, and remembers what each was told last. */
export interface PushAuthentication {
  respond(request: PluginRequest): PluginResponse | Promise<PluginResponse>;
  /** What the phone was told since the last `forget`, which comes before each push; null when it did not ask. */
  verdictFor(phone: string): boolean | null;
  forget(phone: string): void;
}

const TEXT = { "Content-Type": "text/plain" };
const AUTHORIZED: PluginResponse = { status: 200, headers: TEXT, body: "AUTHORIZED" };
const UNAUTHORIZED: PluginResponse = { status: 200, headers: TEXT, body: "UN-AUTHORIZED" };
/**
 * The callback of every push: `GET <url>?UserID=…&Password=…&devicename=SEP…`. Thousands come at once, so it works
 * without waiting, but for pushes that are not ours. Nothing of the query is ever logged: it holds the password. @source protocols.md 3
 */
export function createPushAuthentication(
  credentials: PushCredentials,
  foreign: Pick<PushAuthorizationRelay, "isAuthorized">,
): PushAuthentication {
  /** Of phones that were pushed to, and of no other name: anybody may ask with any, which must neither fill it nor count. */
  const results = new Map<string, boolean | null>();
  return {
    respond({ method, url }) {
      if (method !== "GET") return { status: 405 };
      const query = new URLSearchParams(url.slice(url.indexOf("?") + 1));
      const allowed = credentials.matches(query.get("UserID") ?? "", query.get("Password") ?? "");
      const phone = query.get("devicename") ?? "";
      if (results.has(phone)) results.set(phone, allowed);
      if (allowed) return AUTHORIZED;
      return foreign.isAuthorized(query).then((isOthers) => (isOthers ? AUTHORIZED : UNAUTHORIZED));
    },
    verdictFor: (phone) => results.get(phone) ?? null,
    forget: (phone) => void results.set(phone, null),
  };
}
