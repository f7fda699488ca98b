import { createHash } from "node:crypto";
import webPush from "web-push";
import type { DeliveryItem, PluginContext, SendResult } from "#plugin-api";
import { webPushPayload } from "./payload.ts";
import type { WebPushSubscription } from "./subscription.ts";

/** The pair by which push services know the appliance again; base64url. @source RFC 8292 §2 */
export interface VapidKeys {
  publicKey: string;
  privateKey: string;
}

/** What pushing needs. */
export interface WebPushClientDeps extends Pick<PluginContext, "clock" | "fetch"> {
  contact: string;
  keys: VapidKeys;
  /** Makes the receipt of an item. */
  receiptOf(item: DeliveryItem): string;
}

const RESPONSE_TIMEOUT_MS = 20_000;
/** How long a push service keeps a message for a device that is off, s, where the message says no end. own choice */
const DEFAULT_TTL_S = { emergency: 4 * 3_600, routine: 24 * 3_600 } as const;
const MIN_TTL_S = 60;

/** Makes the function that hands one message to the push service of a browser; it never rejects. */
export function createWebPushClient(needs: WebPushClientDeps) {
  return async function push(item: DeliveryItem, subscription: WebPushSubscription): Promise<SendResult> {
    const first = await attempt(item, subscription, false, needs);
    // A service may take less than it has to; the page has the text. @source RFC 8030 §7.2
    return first === "too-large" ? toFinalResult(await attempt(item, subscription, true, needs)) : first;
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
    const answer = await fetch(endpoint, {
      method,
      headers: texts,
      body: new Uint8Array(body),
      timeoutMs: RESPONSE_TIMEOUT_MS,
    });
    if (answer.status === 413) return "too-large";
    return handoffResult(answer, clock.now());
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    return { taken: false, reason: `the push service: ${words}`, retryable: true, down: true };
  }
}

function ttlSeconds({ expiresAt, class: kind }: DeliveryItem, now: number): number {
  const seconds = expiresAt === null ? DEFAULT_TTL_S[kind] : Math.ceil((expiresAt - now) / 1_000);
  return Math.max(MIN_TTL_S, seconds);
}

/** A second try of a message takes the place of the first while the device is off. @source RFC 8030 §5.4 */
function topicOf({ notificationId }: DeliveryItem): string {
  return createHash("sha256").update(notificationId).digest().subarray(0, 24).toString("base64url");
}

function handoffResult(
  answer: { status: number; headers: Record<string, string>; body: string },
  now: number,
): SendResult {
  const { status, headers, body } = answer;
  if (status >= 200 && status < 300) return { taken: true, level: "accepted" };
  const words = body.trim() === "" ? "" : `: ${body.trim().slice(0, 200)}`;
  if (status === 404 || status === 410) {
    const reason = `The browser has ended its subscription (${status}).`;
    return { taken: false, reason, retryable: false, down: false, gone: true };
  }
  if (status === 401 || status === 403) {
    const reason = `the push service refuses the appliance's key or contact (${status}${words})`;
    return { taken: false, reason, retryable: false, down: true };
  }
  const isBusy = status === 429 || status >= 500;
  const retryAfterMs = isBusy ? parseRetryAfterMs(headers["retry-after"], now) : null;
  return {
    ...{ taken: false, reason: `the push service answered ${status}${words}` },
    ...{ retryable: isBusy, down: status >= 500 },
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
  };
}

/** Seconds or a date; null when it does not say. @source RFC 9110 §10.2.3 */
function parseRetryAfterMs(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  const seconds = Number(header);
  const waitMs = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - now;
  return Number.isFinite(waitMs) ? Math.max(0, waitMs) : null;
}

function toFinalResult(result: SendResult | "too-large"): SendResult {
  if (result !== "too-large") return result;
  return { taken: false, reason: "the push service takes no message as long as this", retryable: false, down: false };
}
