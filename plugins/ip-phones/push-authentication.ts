import type { PluginRequest, PluginResponse } from "#plugin-api";
import type { PushAuthorizationRelay } from "./push-authorization-relay.ts";
import type { PushCredentials } from "./push-credentials.ts";

/** Handles the phones' authentication callback and remembers the latest result per phone. */
export interface PushAuthentication {
  respond(request: PluginRequest): PluginResponse | Promise<PluginResponse>;
  /** Result for this phone since the last `forget`, which precedes each push; null if it did not ask. */
  verdictFor(phone: string): boolean | null;
  forget(phone: string): void;
}

const TEXT = { "Content-Type": "text/plain" };
const AUTHORIZED: PluginResponse = { status: 200, headers: TEXT, body: "AUTHORIZED" };
const UNAUTHORIZED: PluginResponse = { status: 200, headers: TEXT, body: "UN-AUTHORIZED" };
/**
 * Callback of every push: `GET <url>?UserID=…&Password=…&devicename=SEP…`. Thousands arrive at once, so own pushes are
 * answered synchronously. The query is never logged, because it holds the password.
 * @source docs/decisions/0032-phone-push.md, Authentication URL
 */
export function createPushAuthentication(
  credentials: PushCredentials,
  relay: Pick<PushAuthorizationRelay, "isAuthorized">,
): PushAuthentication {
  /** Only phones that were pushed to: anyone may send any name, which must neither fill the map nor count. */
  const results = new Map<string, boolean | null>();
  return {
    respond({ method, url }) {
      if (method !== "GET") return { status: 405 };
      const query = new URLSearchParams(url.slice(url.indexOf("?") + 1));
      const allowed = credentials.matches(query.get("UserID") ?? "", query.get("Password") ?? "");
      const phone = query.get("devicename") ?? "";
      if (results.has(phone)) results.set(phone, allowed);
      if (allowed) return AUTHORIZED;
      return relay.isAuthorized(query).then((isOthers) => (isOthers ? AUTHORIZED : UNAUTHORIZED));
    },
    verdictFor: (phone) => results.get(phone) ?? null,
    forget: (phone) => void results.set(phone, null),
  };
}
