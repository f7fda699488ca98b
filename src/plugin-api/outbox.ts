import type { Clock } from "../lib/clock.ts";
import type { DeliveryItem, OutcomeDetails, OutcomeLevel } from "./delivery.ts";

/**
 * What became of a message that was handed to a server: taken, and how far that proves the delivery; or not, in words.
 * `down`: the server itself is not well, so that others would fare no better. The rest is told on as it is.
 */
export type SendResult =
  | ({ taken: true; level: "sent" | "accepted" } & Pick<OutcomeDetails, "last">)
  | ({ taken: false; reason: string; retryable: boolean; down: boolean } & Pick<
      OutcomeDetails,
      "retryAfterMs" | "gone"
    >);

/** Messages on their way to a server, at most so many at once as it takes; the most urgent first. */
export interface Outbox {
  add(items: readonly DeliveryItem[]): void;
  /** Takes out what was not handed over yet. */
  drop(deliveryIds: readonly number[]): void;
  /** What the server was asked outside of messages. */
  reportResult(result: SendResult): void;
  /** The server is well as far as is known. */
  readonly isWell: boolean;
}

/** What an outbox hands over, and to whom it tells what came of it. */
export interface OutboxDeps {
  clock: Clock;
  /** The context's own. */
  outcome(deliveryId: number, level: OutcomeLevel, details?: OutcomeDetails): void;
  /** The context's own. */
  status(state: "ok" | "down", reason?: string): void;
  concurrency: number;
  /** Why an item can never be handed over, in words; null for one that can. */
  undeliverableReason(item: DeliveryItem): string | null;
  /** Hands one over; never rejects. */
  send(item: DeliveryItem): Promise<SendResult>;
}

/** So long nothing is tried after the server was not well: what comes is given back at once. own choice */
const DOWN_BACKOFF_MS = 5_000;

/**
 * Makes an empty outbox, which reports the outcome of each item and the server's health when it changes. What waits for a
 * server that is not well is given back at once, instead of each waiting for itself, and the host tries again.
 */
export function createOutbox({ clock, outcome, status, concurrency, undeliverableReason, send }: OutboxDeps): Outbox {
  let waiting: DeliveryItem[] = [];
  let underWay = 0;
  let downUntil: { until: number; result: SendResult } | null = null;
  let state: "unknown" | "well" | "down" = "unknown";

  const reportResult = (result: SendResult): void => {
    const isDown = !result.taken && result.down;
    downUntil = isDown ? { until: clock.monotonicMs() + DOWN_BACKOFF_MS, result } : null;
    if (isDown) status("down", result.reason);
    else if (state !== "well") status("ok");
    state = isDown ? "down" : "well";
  };

  const report = ({ deliveryId }: DeliveryItem, result: SendResult): void => {
    if (result.taken) {
      const { level, taken: _, ...details } = result;
      outcome(deliveryId, level, details);
    } else {
      const { taken: _, down: __, ...details } = result;
      outcome(deliveryId, "failed", details);
    }
  };

  /** What the server had taken before a restart is not handed over again. */
  const needsSending = (item: DeliveryItem): boolean => {
    if (item.reached) return false;
    const reason = undeliverableReason(item);
    if (reason !== null) outcome(item.deliveryId, "failed", { reason, retryable: false });
    return reason === null;
  };

  const sendNext = (): void => {
    if (downUntil !== null && clock.monotonicMs() < downUntil.until) {
      for (const item of waiting.splice(0)) report(item, downUntil.result);
    }
    while (underWay < concurrency) {
      const item = waiting.shift();
      if (!item) return;
      underWay++;
      void send(item).then((result) => {
        underWay--;
        reportResult(result);
        report(item, result);
        sendNext();
      });
    }
  };

  return {
    get isWell() {
      return state === "well";
    },
    add(items) {
      // Sorting keeps the order of those that are equally urgent.
      waiting = [...waiting, ...items.filter(needsSending)].sort((a, b) => a.priority - b.priority);
      sendNext();
    },
    drop(deliveryIds) {
      const gone = new Set(deliveryIds);
      waiting = waiting.filter(({ deliveryId }) => !gone.has(deliveryId));
    },
    reportResult,
  };
}

/** Serves nothing, for want of what the configuration lacks: says so, and fails each delivery with these words. */
export function failForMissingConfig(
  ctx: Pick<OutboxDeps, "outcome"> & {
    deliver(handler: (batch: DeliveryItem[]) => void): void;
    status(state: "degraded", reason: string): void;
  },
  reason: string,
): void {
  ctx.deliver((batch) => {
    for (const { deliveryId } of batch) ctx.outcome(deliveryId, "failed", { reason, retryable: false });
  });
  ctx.status("degraded", reason);
}
