import type { Clock, DeliveryItem } from "#plugin-api";
import { createCallRateLimiter } from "../sip/call-rate-limiter.ts";

/** Calls that wait for a line, the most urgent first. */
export interface CallQueue {
  add(items: readonly DeliveryItem[]): void;
  /** Takes out what was not begun. */
  drop(deliveryIds: readonly number[]): void;
  /** A line is free, or the trunk is well again. */
  startNext(): void;
}

/** What lines need. */
export interface CallQueueDeps {
  clock: Clock;
  maxConcurrent: number;
  perSecond: number;
  /** Nothing is begun meanwhile. */
  isPaused(): boolean;
  /** Makes a call; resolves when its line is free again. Never rejects. */
  placeCall(item: DeliveryItem): Promise<void>;
}

/** Makes lines that are all free. */
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
      // Sorting keeps the order of those that are equally urgent.
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
