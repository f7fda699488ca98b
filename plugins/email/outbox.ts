import type { Clock, DeliveryItem } from "#plugin-api";
import type { SendResult } from "./server.ts";

/** Mails on their way to the server, at most as many at once as there are connections; the most urgent first. */
export interface Outbox {
  add(items: readonly DeliveryItem[]): void;
  /** Takes out what was not given to the server yet. */
  drop(deliveryIds: readonly number[]): void;
}

/** What an outbox needs. */
export interface OutboxNeeds {
  clock: Clock;
  connections: number;
  send(item: DeliveryItem): Promise<SendResult>;
  onResult(item: DeliveryItem, result: SendResult): void;
}

/** So long nothing is tried after the server could not be reached: what comes is given back at once. own choice */
const BROKEN_MS = 5_000;

/** Makes an empty outbox. */
export function createOutbox({ clock, connections, send, onResult }: OutboxNeeds): Outbox {
  let waiting: DeliveryItem[] = [];
  let under = 0;
  let broken: { until: number; result: SendResult } | null = null;

  const giveBack = (): void => {
    if (broken === null || clock.monotonicMs() >= broken.until) return;
    const { result } = broken;
    for (const item of waiting.splice(0)) onResult(item, result);
  };

  const pump = (): void => {
    giveBack();
    while (under < connections) {
      const item = waiting.shift();
      if (!item) return;
      under++;
      void send(item).then((result) => {
        under--;
        const isBroken = !result.taken && result.server;
        broken = isBroken ? { until: clock.monotonicMs() + BROKEN_MS, result } : null;
        onResult(item, result);
        pump();
      });
    }
  };

  return {
    add(items) {
      // Sorting keeps the order of those that are equally urgent.
      waiting = [...waiting, ...items].sort((a, b) => a.priority - b.priority);
      pump();
    },
    drop(deliveryIds) {
      const gone = new Set(deliveryIds);
      waiting = waiting.filter(({ deliveryId }) => !gone.has(deliveryId));
    },
  };
}
