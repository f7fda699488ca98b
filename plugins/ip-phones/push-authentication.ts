import type { PluginRequest, PluginResponse } from "#plugin-api";
import type { PushAuthorizationRelay } from "./push-authorization-relay.ts";
import { type PushCredentials, phoneKey } from "./push-credentials.ts";

/** Handles the phones' authentication callback and remembers the latest result per phone. */
export interface PushAuthentication {
  respond(request: PluginRequest): PluginResponse | Promise<PluginResponse>;
  /** A push to the phone is under way, until the returned function is called. */
  begin(phone: string): () => void;
  /** Result for this phone since the last `begin`; null if it did not ask, or no push is under way. */
  verdictFor(phone: string): boolean | null;
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
  /** Only phones that are pushed to: anyone may send any name, which must neither fill the map nor count. */
  const pushes = new Map<string, { count: number; verdict: boolean | null }>();
  return {
    respond({ method, url }) {
      if (method !== "GET") return { status: 405 };
      const query = new URLSearchParams(url.slice(url.indexOf("?") + 1));
      const phone = query.get("devicename") ?? "";
      const push = pushes.get(phoneKey(phone));
      const isRight = credentials.matches(phone, query.get("UserID") ?? "", query.get("Password") ?? "");
      // Appliances that share a password answer for each other's pushes, too.
      const allowed = isRight && (push !== undefined || !credentials.isPerPhone);
      if (push) push.verdict = allowed;
      if (allowed) return AUTHORIZED;
      return relay.isAuthorized(query).then((isOthers) => (isOthers ? AUTHORIZED : UNAUTHORIZED));
    },
    begin(phone) {
      const key = phoneKey(phone);
      const push = pushes.get(key) ?? { count: 0, verdict: null };
      push.count += 1;
      push.verdict = null;
      pushes.set(key, push);
      return () => {
        push.count -= 1;
        if (push.count === 0) pushes.delete(key);
      };
    },
    verdictFor: (phone) => pushes.get(phoneKey(phone))?.verdict ?? null,
  };
}
