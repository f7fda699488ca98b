import type { Clock, DeliveryItem, Handed, PluginContext } from "#plugin-api";

/** Where messages for one channel are posted. */
export interface Channel {
  /**
   * Posts one message, and again when the service asks to wait, as long as the message is of use. Never rejects.
   * `accepted`: the service has taken it.
   */
  post(item: Pick<DeliveryItem, "deliveryId" | "notAfter">, body: string): Promise<Handed>;
  /** What waits for the service is not posted any more. */
  drop(deliveryIds: readonly number[]): void;
}

/** What a channel needs. */
export interface ChannelNeeds {
  url: string;
  clock: Clock;
  signal: AbortSignal;
  fetch: PluginContext["fetch"];
}

const ANSWER_MS = 20_000;
/** Until a service takes messages again that does not say when. own choice */
const USUAL_WAIT_MS = 1_000;
/** Statuses that say that nobody can write there any more, or never could. */
const GONE = new Set([401, 403, 404, 410]);

/** Makes the channel at an address, for one message at a time; nothing is sent until there is something to say. */
export function createChannel({ url, clock, signal, fetch }: ChannelNeeds): Channel {
  let freeAt = 0;
  /** The message that waits for the service. */
  let waiting: { deliveryId: number; callOff(): void } | null = null;

  /** Resolves when the service takes messages again, or with "off" when the message is called off meanwhile. */
  const untilFree = (deliveryId: number): Promise<"free" | "off"> =>
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

  const attempt = async (body: string): Promise<Handed | "busy"> => {
    try {
      const headers = { "content-type": "application/json; charset=utf-8" };
      const answer = await fetch(url, { method: "POST", headers, body, timeoutMs: ANSWER_MS });
      const status = statusOf(answer);
      if (status !== 429) return verdict(status, answer.body);
      freeAt = clock.now() + waitAsked(answer.headers["retry-after"], clock.now());
      return "busy";
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      return { taken: false, reason: `the chat service: ${words}`, retryable: true, down: true };
    }
  };

  return {
    async post({ deliveryId, notAfter }, body) {
      for (;;) {
        if (freeAt > notAfter) return final("the chat service takes nothing more before it is too late");
        if ((await untilFree(deliveryId)) === "off") return final("it was called off");
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
function waitAsked(header: string | undefined, now: number): number {
  const seconds = Number(header ?? Number.NaN);
  const waitMs = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header ?? "") - now;
  return Number.isFinite(waitMs) ? Math.max(USUAL_WAIT_MS, waitMs) : USUAL_WAIT_MS;
}

function verdict(status: number, said: string): Handed {
  if (status >= 200 && status < 300) return { taken: true, level: "accepted" };
  const words = said.trim() === "" ? "" : `: ${said.trim().slice(0, 200)}`;
  if (GONE.has(status)) return final(`the chat service says that nobody may write there (${status}${words})`);
  const isOwnFault = status >= 500;
  return {
    taken: false,
    reason: `the chat service answered ${status}${words}`,
    retryable: isOwnFault,
    down: isOwnFault,
  };
}

function final(reason: string): Handed {
  return { taken: false, reason, retryable: false, down: false };
}
