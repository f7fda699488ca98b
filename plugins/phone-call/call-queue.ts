import type { Clock, DeliveryItem } from "#plugin-api";
import { createCallRateLimiter } from "../sip/call-rate-limiter.ts";

/** Queue of calls that wait for a line; the highest priority goes first. */
export interface CallQueue {
  add(items: readonly DeliveryItem[]): void;
  /** Removes calls that were not started. */
  drop(deliveryIds: readonly number[]): void;
  /** Call when a line is free or the trunk is available again. */
  startNext(): void;
}

export interface CallQueueDeps {
  clock: Clock;
  maxConcurrent: number;
  perSecond: number;
  /** While true, no call is started. */
  isPaused(): boolean;
  /** Places a call; resolves when its line is free again. Never rejects. */
  placeCall(item: DeliveryItem): Promise<void>;
}

/** Creates the queue with all lines free. */
export function createCallQueue({ clock, maxConcurrent, perSecond, isPaused, placeCall }: CallQueueDeps): CallQueue {
  const rateLimiter = createCallRateLimiter(clock, perSecond);
  let waiting: DeliveryItem[] = [];
  let busy = 0;

  const startCall = (): void => {
    const item = isPaused() ? undefined : waiting.shift();
    if (!item) {
      busy--;
      return;
    }
    void placeCall(item).finally(() => {
      busy--;
      startNext();
    });
  };
  const startNext = (): void => {
    for (let free = Math.min(maxConcurrent - busy, waiting.length); free > 0 && !isPaused(); free--) {
      busy++;
      rateLimiter.schedule(0, startCall);
    }
  };

  return {
    add(items) {
      // The sort is stable: equal priorities keep their order.
      waiting = [...waiting, ...items].sort((a, b) => a.priority - b.priority);
      startNext();
    },
    drop(deliveryIds) {
      const gone = new Set(deliveryIds);
      waiting = waiting.filter(({ deliveryId }) => !gone.has(deliveryId));
    },
    startNext,
  };
}
