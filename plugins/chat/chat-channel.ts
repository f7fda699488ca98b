import type { Clock, DeliveryItem, PluginContext, SendResult } from "#plugin-api";

/** Where messages for one channel are posted. */
export interface ChatChannel {
  /**
   * Posts one message, and again when the service asks to wait, as long as the message is of use. Never rejects.
   * `accepted`: the service has taken it.
   */
  post(item: Pick<DeliveryItem, "deliveryId" | "notAfter">, body: string): Promise<SendResult>;
  /** What waits for the service is not posted any more. */
  drop(deliveryIds: readonly number[]): void;
}

/** What a channel needs. */
export interface ChatChannelDeps {
  url: string;
  clock: Clock;
  signal: AbortSignal;
  fetch: PluginContext["fetch"];
}

const RESPONSE_TIMEOUT_MS = 20_000;
/** Until a service takes messages again that does not say when. own choice */
const DEFAULT_RETRY_AFTER_MS = 1_000;
/** Statuses that say that nobody can write there any more, or never could. */
const PERMANENT_STATUSES = new Set([401, 403, 404, 410]);

/** Makes the channel at an address, for one message at a time; nothing is sent until there is something to say. */
export function createChatChannel({ url, clock, signal, fetch }: ChatChannelDeps): ChatChannel {
  let freeAt = 0;
  /** The message that waits for the service. */
  let waiting: { deliveryId: number; callOff(): void } | null = null;

  /** Resolves when the service takes messages again, or with "off" when the message is called off meanwhile. */
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
      waiting = { deliveryId, callOff: () => end("off") };
    });

  const attempt = async (body: string): Promise<SendResult | "busy"> => {
    try {
      const headers = { "content-type": "application/json; charset=utf-8" };
      const answer = await fetch(url, { method: "POST", headers, body, timeoutMs: RESPONSE_TIMEOUT_MS });
      const status = statusOf(answer);
      if (status !== 429) return handoffResult(status, answer.body);
      freeAt = clock.now() + parseRetryAfterMs(answer.headers["retry-after"], clock.now());
      return "busy";
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      return { taken: false, reason: `the chat service: ${words}`, retryable: true, down: true };
    }
  };

  return {
    async post({ deliveryId, notAfter }, body) {
      for (;;) {
        if (freeAt > notAfter) return permanentFailure("the chat service takes nothing more before it is too late");
        if ((await waitUntilFree(deliveryId)) === "off") return permanentFailure("it was called off");
        const result = await attempt(body);
        if (result !== "busy") return result;
      }
    },
    drop(deliveryIds) {
      if (waiting && deliveryIds.includes(waiting.deliveryId)) waiting.callOff();
    },
  };
}

/** The old kind of webhook answers 200 in any case and tells of a refusal in words. @source Microsoft Teams, HTTP 429 */
function statusOf({ status, body }: { status: number; body: string }): number {
  const told = status === 200 ? /returned HTTP error (\d{3})/i.exec(body)?.[1] : undefined;
  return told === undefined ? status : Number(told);
}

/** Seconds or a date. @source RFC 9110 §10.2.3 */
function parseRetryAfterMs(header: string | undefined, now: number): number {
  const seconds = Number(header ?? Number.NaN);
  const waitMs = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header ?? "") - now;
  return Number.isFinite(waitMs) ? Math.max(DEFAULT_RETRY_AFTER_MS, waitMs) : DEFAULT_RETRY_AFTER_MS;
}

function handoffResult(status: number, said: string): SendResult {
  if (status >= 200 && status < 300) return { taken: true, level: "accepted" };
  const words = said.trim() === "" ? "" : `: ${said.trim().slice(0, 200)}`;
  if (PERMANENT_STATUSES.has(status))
    return permanentFailure(`the chat service says that nobody may write there (${status}${words})`);
  const isOwnFault = status >= 500;
  return {
    taken: false,
    reason: `the chat service answered ${status}${words}`,
    retryable: isOwnFault,
    down: isOwnFault,
  };
}

function permanentFailure(reason: string): SendResult {
  return { taken: false, reason, retryable: false, down: false };
}
