import type { Clock } from "../lib/clock.ts";
import type { DeliveryItem, OutcomeDetails, OutcomeLevel } from "./delivery.ts";

/**
 * Result of handing a message to a server: taken, with the level this proves, or refused with a reason. `down`: the
 * server itself is unavailable, so other messages would fail as well. Further details are passed on to `outcome`.
 */
export type SendResult =
  | ({ taken: true; level: "sent" | "accepted" } & Pick<OutcomeDetails, "last">)
  | ({ taken: false; reason: string; retryable: boolean; down: boolean } & Pick<
      OutcomeDetails,
      "retryAfterMs" | "gone"
    >);

/** Queue of messages to one server with limited concurrency; the highest priority goes first. */
export interface Outbox {
  add(items: readonly DeliveryItem[]): void;
  /** Removes messages that were not sent yet. */
  drop(deliveryIds: readonly number[]): void;
  /** Reports the result of a request that is not a message, such as a health check. */
  reportResult(result: SendResult): void;
  /** The last result showed a working server. */
  readonly isWell: boolean;
}

/** Queue settings and callbacks of an outbox. */
export interface OutboxDeps {
  clock: Clock;
  /** Same as in the plugin context. */
  outcome(deliveryId: number, level: OutcomeLevel, details?: OutcomeDetails): void;
  /** Same as in the plugin context. */
  status(state: "ok" | "down", reason?: string): void;
  concurrency: number;
  /** Reason why an item can never be sent; null if it can. */
  undeliverableReason(item: DeliveryItem): string | null;
  /** Sends one item; never rejects. */
  send(item: DeliveryItem): Promise<SendResult>;
}

/** Pause without attempts after the server was found down. */
const DOWN_BACKOFF_MS = 5_000;

/**
 * Creates an outbox that reports the outcome of each item and the server's health on change. While the server is down,
 * queued items fail at once instead of each waiting for its own timeout; the host retries them for as long as their message
 * lives.
 */
export function createOutbox({ clock, outcome, status, concurrency, undeliverableReason, send }: OutboxDeps): Outbox {
  let waiting: DeliveryItem[] = [];
  let inFlight = 0;
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
      const { taken: _, down, ...details } = result;
      const passing = result.retryable && { passing: true };
      outcome(deliveryId, "failed", { ...details, ...passing, ...(down && { channelDown: true }) });
    }
  };

  /** An item that the server accepted before a restart is not sent again. */
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
    while (inFlight < concurrency) {
      const item = waiting.shift();
      if (!item) return;
      inFlight++;
      void send(item).then((result) => {
        inFlight--;
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
      // The sort is stable: equal priorities keep their order.
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

/**
 * Reports the plugin as not set up and fails each delivery with this reason, because required configuration is missing.
 */
export function failForMissingConfig(
  ctx: Pick<OutboxDeps, "outcome"> & {
    deliver(handler: (batch: DeliveryItem[]) => void): void;
    status(state: "unconfigured", reason: string): void;
  },
  reason: string,
): void {
  ctx.deliver((batch) => {
    for (const { deliveryId } of batch)
      ctx.outcome(deliveryId, "failed", { reason, retryable: false, inconclusive: true, channelDown: true });
  });
  ctx.status("unconfigured", reason);
}
