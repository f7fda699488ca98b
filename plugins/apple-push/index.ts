import { createPrivateKey, type KeyObject } from "node:crypto";
import {
  type Clock,
  type ConfigOf,
  createOutbox,
  type DeliveryItem,
  definePlugin,
  failForMissingConfig,
  parseRetryAfterMs,
  type SendResult,
  signJsonWebToken,
} from "#plugin-api";
import { type ApnsConnection, type ApnsResponse, createApnsConnection } from "./apns-connection.ts";
import { apnsHeaders, apnsPayload } from "./apns-message.ts";
import config from "./config.ts";
import { sentence } from "./sentences.ts";

type Config = ConfigOf<typeof config>;

/**
 * Tokens are valid for an hour and must not be renewed more often than every 20 minutes.
 * @source APNs, establishing a token-based connection
 */
const TOKEN_LIFETIME_MS = 50 * 60_000;

/** Push messages through APNs by device token. */
export default definePlugin({
  config,
  activate(ctx) {
    const { keyId, teamId, topic, criticalAlerts, host, sandboxHost } = ctx.config;
    const key = parseSigningKey(ctx.config.key);
    if (!key || !keyId || !teamId || !topic) {
      return failForMissingConfig(ctx, sentence("key-missing"));
    }
    const connections = {
      apns: createApnsConnection({ ...ctx.config, host }, ctx.clock),
      sandbox: createApnsConnection({ ...ctx.config, host: sandboxHost }, ctx.clock),
    };
    ctx.signal.addEventListener("abort", () => Object.values(connections).forEach(close), { once: true });
    const tokens = createProviderTokens({ keyId, teamId, key }, ctx.clock);
    const send = async (item: DeliveryItem): Promise<SendResult> => {
      const connection = item.device.attributes.Type === "apns-sandbox" ? connections.sandbox : connections.apns;
      const token = tokens.get();
      const headers = { authorization: `bearer ${token}`, ...apnsHeaders(item, topic, ctx.clock.now()) };
      try {
        const path = `/3/device/${item.device.deviceIdentifier}`;
        const response = await connection.post(path, headers, apnsPayload(item, criticalAlerts));
        const reason = parseReason(response.body);
        if (reason === "ExpiredProviderToken") tokens.forget(token);
        return handoffResult(response, reason, ctx.clock.now());
      } catch (error) {
        return {
          taken: false,
          reason: sentence("request-failed", { error: String(error) }),
          retryable: true,
          down: true,
        };
      }
    };
    const undeliverableReason = ({ device }: DeliveryItem): string | null =>
      /^([0-9a-f]{2}){8,100}$/i.test(device.deviceIdentifier) ? null : sentence("identifier-invalid");
    const outbox = createOutbox({ ...ctx, concurrency: ctx.config.atOnce, undeliverableReason, send });
    ctx.deliver(outbox.add);
    ctx.stop(({ deliveryIds }) => outbox.drop(deliveryIds));
    ctx.status("ok");
  },
});

function close(connection: ApnsConnection): void {
  connection.close();
}

function parseSigningKey(text: Config["key"]): KeyObject | null {
  try {
    const key = createPrivateKey(text ?? "");
    return key.asymmetricKeyDetails?.namedCurve === "prime256v1" ? key : null;
  } catch {
    return null;
  }
}

function createProviderTokens({ keyId, teamId, key }: { keyId: string; teamId: string; key: KeyObject }, clock: Clock) {
  let held: { token: string; until: number } | null = null;
  return {
    get(): string {
      const now = clock.now();
      if (held && now < held.until) return held.token;
      const claims = { iss: teamId, iat: Math.floor(now / 1_000) };
      held = { token: signJsonWebToken("ES256", { kid: keyId }, claims, key), until: now + TOKEN_LIFETIME_MS };
      return held.token;
    },
    /** If many requests fail at once, only the first causes a renewal. */
    forget(token: string): void {
      if (held?.token === token) held = null;
    },
  };
}

function handoffResult({ status, retryAfter }: ApnsResponse, reason: string, now: number): SendResult {
  if (status === 200) return { taken: true, level: "accepted" };
  const message = sentence("http-status", { status, detail: reason });
  // Only 410 proves that the app is gone: other errors may be caused by a wrong topic or host.
  if (status === 410) {
    const gone = sentence("app-removed", { detail: reason });
    return { taken: false, reason: gone, retryable: false, down: false, gone: true };
  }
  // An expired provider token is renewed for the retry; a refused key stays refused.
  if (status === 403)
    return { taken: false, reason: message, retryable: reason === "ExpiredProviderToken", down: true };
  const isBusy = status === 429 || status >= 500;
  const retryAfterMs = isBusy ? parseRetryAfterMs(retryAfter ?? undefined, now) : null;
  const more = retryAfterMs === null ? {} : { retryAfterMs };
  return { taken: false, reason: message, retryable: isBusy, down: status >= 500, ...more };
}

function parseReason(body: string): string {
  try {
    return String((JSON.parse(body) as { reason?: unknown }).reason ?? "").slice(0, 100);
  } catch {
    return "";
  }
}
