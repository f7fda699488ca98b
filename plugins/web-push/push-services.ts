import { createHash } from "node:crypto";
import webPush from "web-push";
import type { DeliveryItem, Handed, PluginContext } from "#plugin-api";
import { payloadOf } from "./payload.ts";
import type { Subscription } from "./subscription.ts";

/** The pair by which push services know the appliance again; base64url. @source RFC 8292 §2 */
export interface VapidKeys {
  publicKey: string;
  privateKey: string;
}

/** What pushing needs. */
export interface PushNeeds extends Pick<PluginContext, "clock" | "fetch"> {
  contact: string;
  keys: VapidKeys;
  /** Makes the receipt of an item. */
  receiptOf(item: DeliveryItem): string;
}

const ANSWER_MS = 20_000;
/** How long a push service keeps a message for a device that is off, s, where the message says no end. own choice */
const KEPT_S = { emergency: 4 * 3_600, routine: 24 * 3_600 } as const;
const SHORTEST_KEPT_S = 60;

/** Makes the function that hands one message to the push service of a browser; it never rejects. */
export function createPush(needs: PushNeeds) {
  return async function push(item: DeliveryItem, subscription: Subscription): Promise<Handed> {
    const first = await attempt(item, subscription, false, needs);
    // A service may take less than it has to; the page has the text. @source RFC 8030 §7.2
    return first === "too-large" ? final(await attempt(item, subscription, true, needs)) : first;
  };
}

async function attempt(
  item: DeliveryItem,
  subscription: Subscription,
  shortest: boolean,
  { clock, fetch, contact, keys, receiptOf }: PushNeeds,
): Promise<Handed | "too-large"> {
  try {
    const { endpoint, method, headers, body } = webPush.generateRequestDetails(
      subscription,
      payloadOf(item, receiptOf(item), shortest),
      {
        vapidDetails: { subject: contact, ...keys },
        contentEncoding: "aes128gcm",
        TTL: keptFor(item, clock.now()),
        urgency: item.class === "emergency" ? "high" : "normal",
        topic: topicOf(item),
      },
    );
    const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    const answer = await fetch(endpoint, { method, headers: texts, body: new Uint8Array(body), timeoutMs: ANSWER_MS });
    if (answer.status === 413) return "too-large";
    return verdict(answer, clock.now());
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    return { taken: false, reason: `the push service: ${words}`, retryable: true, down: true };
  }
}

function keptFor({ expiresAt, class: kind }: DeliveryItem, now: number): number {
  const seconds = expiresAt === null ? KEPT_S[kind] : Math.ceil((expiresAt - now) / 1_000);
  return Math.max(SHORTEST_KEPT_S, seconds);
}

/** A second try of a message takes the place of the first while the device is off. @source RFC 8030 §5.4 */
function topicOf({ notificationId }: DeliveryItem): string {
  return createHash("sha256").update(notificationId).digest().subarray(0, 24).toString("base64url");
}

function verdict(answer: { status: number; headers: Record<string, string>; body: string }, now: number): Handed {
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
  const retryAfterMs = isBusy ? waitAsked(headers["retry-after"], now) : null;
  return {
    ...{ taken: false, reason: `the push service answered ${status}${words}` },
    ...{ retryable: isBusy, down: status >= 500 },
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
  };
}

/** Seconds or a date; null when it does not say. @source RFC 9110 §10.2.3 */
function waitAsked(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  const seconds = Number(header);
  const waitMs = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - now;
  return Number.isFinite(waitMs) ? Math.max(0, waitMs) : null;
}

function final(result: Handed | "too-large"): Handed {
  if (result !== "too-large") return result;
  return { taken: false, reason: "the push service takes no message as long as this", retryable: false, down: false };
}
