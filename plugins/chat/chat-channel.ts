import { type Clock, type DeliveryItem, type PluginContext, parseRetryAfterMs, type SendResult } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** A webhook channel. */
export interface ChatChannel {
  /**
   * Posts one message; if rate limited, retries until the message is useless. Never rejects. `accepted`: the service
   * took the post.
   */
  post(item: Pick<DeliveryItem, "deliveryId" | "notAfter">, body: string): Promise<SendResult>;
  /** Cancels a post that waits for the rate limit. */
  drop(deliveryIds: readonly number[]): void;
}

export interface ChatChannelDeps {
  url: string;
  clock: Clock;
  signal: AbortSignal;
  fetch: PluginContext["fetch"];
}

const RESPONSE_TIMEOUT_MS = 20_000;
/** Shortest wait time after 429. */
const MIN_RETRY_AFTER_MS = 1_000;
/** Statuses of a webhook that is gone or was never valid. */
const PERMANENT_STATUSES = new Set([401, 403, 404, 410]);

/** Creates a channel that posts one message at a time. */
export function createChatChannel({ url, clock, signal, fetch }: ChatChannelDeps): ChatChannel {
  let freeAt = 0;
  /** The post that waits for the rate limit. */
  let waiting: { deliveryId: number; cancel(): void } | null = null;

  /** Resolves with "free" when the rate limit ends, or with "off" if the message is cancelled. */
  const waitUntilFree = (deliveryId: number): Promise<"free" | "off"> =>
    new Promise((resolve) => {
      const waitMs = freeAt - clock.now();
      if (waitMs <= 0 || signal.aborted) return resolve("free");
      const end = (how: "free" | "off"): void => {
        timer.cancel();
        waiting = null;
        resolve(how);
      };
      const timer = clock.after(waitMs, () => end("free"));
      waiting = { deliveryId, cancel: () => end("off") };
    });

  const attempt = async (body: string): Promise<SendResult | "busy"> => {
    try {
      const headers = { "content-type": "application/json; charset=utf-8" };
      const response = await fetch(url, { method: "POST", headers, body, timeoutMs: RESPONSE_TIMEOUT_MS });
      const status = statusOf(response);
      if (status !== 429) return handoffResult(status, response.body);
      const waitMs = parseRetryAfterMs(response.headers["retry-after"], clock.now()) ?? 0;
      freeAt = clock.now() + Math.max(MIN_RETRY_AFTER_MS, waitMs);
      return "busy";
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { taken: false, reason: sentence("request-failed", { error: message }), retryable: true, down: true };
    }
  };

  return {
    async post({ deliveryId, notAfter }, body) {
      for (;;) {
        if (freeAt > notAfter) return permanentFailure(sentence("rate-limited"));
        if ((await waitUntilFree(deliveryId)) === "off") return permanentFailure(sentence("cancelled"));
        const result = await attempt(body);
        if (result !== "busy") return result;
      }
    },
    drop(deliveryIds) {
      if (waiting && deliveryIds.includes(waiting.deliveryId)) waiting.cancel();
    },
  };
}

/**
 * Legacy webhooks respond with 200 and describe the error in the body.
 * @source Microsoft Teams documentation, rate limiting for connectors
 */
function statusOf({ status, body }: { status: number; body: string }): number {
  const embedded = status === 200 ? /returned HTTP error (\d{3})/i.exec(body)?.[1] : undefined;
  return embedded === undefined ? status : Number(embedded);
}

function handoffResult(status: number, body: string): SendResult {
  if (status >= 200 && status < 300) return { taken: true, level: "accepted" };
  const detail = body.trim().slice(0, 200);
  if (PERMANENT_STATUSES.has(status))
    return permanentFailure(
      detail === "" ? sentence("webhook-invalid", { status }) : sentence("webhook-invalid-because", { status, detail }),
    );
  const isServerError = status >= 500;
  return {
    taken: false,
    reason: sentence("http-status", { status: detail === "" ? status : `${status}: ${detail}` }),
    retryable: isServerError,
    down: isServerError,
  };
}

function permanentFailure(reason: string): SendResult {
  return { taken: false, reason, retryable: false, down: false };
}
