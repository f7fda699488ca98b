import { createHash } from "node:crypto";
import webPush from "web-push";
import { type DeliveryItem, type PluginContext, parseRetryAfterMs, type SendResult } from "#plugin-api";
import { webPushPayload } from "./payload.ts";
import { sentence } from "./sentences.ts";
import type { WebPushSubscription } from "./subscription.ts";

/** VAPID key pair in base64url. @source RFC 8292 §2 */
export interface VapidKeys {
  publicKey: string;
  privateKey: string;
}

export interface WebPushClientDeps extends Pick<PluginContext, "clock" | "fetch"> {
  contact: string;
  keys: VapidKeys;
  /** Creates the receipt of an item. */
  receiptOf(item: DeliveryItem): string;
}

const RESPONSE_TIMEOUT_MS = 20_000;
/** Time to live on the service in s, for messages that do not expire. */
const DEFAULT_TTL_S = { emergency: 4 * 3_600, routine: 24 * 3_600 } as const;
const MIN_TTL_S = 60;

/** Creates the function that sends one message to a browser's push service; it never rejects. */
export function createWebPushClient(deps: WebPushClientDeps) {
  return async function push(item: DeliveryItem, subscription: WebPushSubscription): Promise<SendResult> {
    const first = await attempt(item, subscription, false, deps);
    // A service may accept less than required; the page has the full text. @source RFC 8030 §7.2
    return first === "too-large" ? toFinalResult(await attempt(item, subscription, true, deps)) : first;
  };
}

async function attempt(
  item: DeliveryItem,
  subscription: WebPushSubscription,
  shortest: boolean,
  { clock, fetch, contact, keys, receiptOf }: WebPushClientDeps,
): Promise<SendResult | "too-large"> {
  try {
    const { endpoint, method, headers, body } = webPush.generateRequestDetails(
      subscription,
      webPushPayload(item, receiptOf(item), shortest),
      {
        vapidDetails: { subject: contact, ...keys },
        contentEncoding: "aes128gcm",
        TTL: ttlSeconds(item, clock.now()),
        urgency: item.class === "emergency" ? "high" : "normal",
        topic: topicOf(item),
      },
    );
    const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    const response = await fetch(endpoint, {
      method,
      headers: texts,
      body: new Uint8Array(body),
      timeoutMs: RESPONSE_TIMEOUT_MS,
    });
    if (response.status === 413) return "too-large";
    return handoffResult(response, clock.now());
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { taken: false, reason: sentence("request-failed", { error: message }), retryable: true, down: true };
  }
}

function ttlSeconds({ expiresAt, class: kind }: DeliveryItem, now: number): number {
  const seconds = expiresAt === null ? DEFAULT_TTL_S[kind] : Math.ceil((expiresAt - now) / 1_000);
  return Math.max(MIN_TTL_S, seconds);
}

/** A repeated message replaces the earlier one while the device is offline. @source RFC 8030 §5.4 */
function topicOf({ notificationId }: DeliveryItem): string {
  return createHash("sha256").update(notificationId).digest().subarray(0, 24).toString("base64url");
}

function handoffResult(
  response: { status: number; headers: Record<string, string>; body: string },
  now: number,
): SendResult {
  const { status, headers, body } = response;
  if (status >= 200 && status < 300) return { taken: true, level: "accepted" };
  const detail = body.trim().slice(0, 200);
  const statusAndDetail = detail === "" ? status : `${status}: ${detail}`;
  if (status === 404 || status === 410) {
    const reason = sentence("subscription-ended", { status });
    return { taken: false, reason, retryable: false, down: false, gone: true };
  }
  if (status === 401 || status === 403) {
    const reason = sentence("key-refused", { status: statusAndDetail });
    return { taken: false, reason, retryable: false, down: true };
  }
  const isBusy = status === 429 || status >= 500;
  const retryAfterMs = isBusy ? parseRetryAfterMs(headers["retry-after"], now) : null;
  return {
    ...{ taken: false, reason: sentence("http-status", { status: statusAndDetail }) },
    ...{ retryable: isBusy, down: status >= 500 },
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
  };
}

function toFinalResult(result: SendResult | "too-large"): SendResult {
  if (result !== "too-large") return result;
  return { taken: false, reason: sentence("too-large"), retryable: false, down: false };
}
