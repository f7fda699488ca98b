import type { RequestListener } from "node:http";
import inject from "light-my-request";
import type { Access } from "../access/principal.ts";
import type { HubTalkNeeds } from "../replication/link/hub-talk.ts";

/** What carrying requests of appliances out needs. */
export interface ForwardedNeeds {
  access: Pick<Access, "lend">;
  /** What the server hands requests to; called once all runs. */
  listener(): RequestListener;
  /** Where the API is reached: what requests are addressed to. */
  url(): string;
}

/** Headers that an appliance hands on; all others are about its own connection. */
const HANDED_ON: readonly string[] = [
  ...["content-type", "accept-language", "if-match", "idempotency-key", "x-service-domain"],
];

/**
 * Carries out at the cloud what somebody asked of an appliance and only the cloud may do: with the rights that the user has
 * here, by the very way of a request that comes over the network. The answer has `status`, `headers` and `body` (base64).
 */
export function createForwarded({ access, listener, url }: ForwardedNeeds): HubTalkNeeds["request"] {
  return async (_endpoint, { userId, scopes, method, target, headers, body }) => {
    const { token, end } = access.lend(userId, scopes);
    try {
      const handed = Object.fromEntries(
        HANDED_ON.flatMap((name) => (typeof headers[name] === "string" ? [[name, headers[name]]] : [])),
      );
      const answer = await inject(listener(), {
        method: method as "POST",
        url: target,
        headers: { ...handed, host: new URL(url()).host, authorization: `Bearer ${token}` },
        payload: Buffer.from(body, "base64"),
      });
      const shown = Object.fromEntries(
        Object.entries(answer.headers).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
      );
      return { status: answer.statusCode, headers: shown, body: answer.rawPayload.toString("base64") };
    } finally {
      end();
    }
  };
}
