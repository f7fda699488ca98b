import type { Clock, DeliveryItem } from "#plugin-api";
import { createPace } from "../sip/pace.ts";

/** Calls that wait for a line, the most urgent first. */
export interface Lines {
  add(items: readonly DeliveryItem[]): void;
  /** Takes out what was not begun. */
  drop(deliveryIds: readonly number[]): void;
  /** A line is free, or the trunk is well again. */
  look(): void;
}

/** What lines need. */
export interface LinesNeeds {
  clock: Clock;
  atOnce: number;
  perSecond: number;
  /** Nothing is begun meanwhile. */
  isClosed(): boolean;
  /** Makes a call; resolves when its line is free again. Never rejects. */
  begin(item: DeliveryItem): Promise<void>;
}

/** Makes lines that are all free. */
export function createLines({ clock, atOnce, perSecond, isClosed, begin }: LinesNeeds): Lines {
  const pace = createPace(clock, perSecond);
  let waiting: DeliveryItem[] = [];
  let busy = 0;

  const take = (): void => {
    const item = isClosed() ? undefined : waiting.shift();
    if (!item) {
      busy--;
      return;
    }
    void begin(item).finally(() => {
      busy--;
      look();
    });
  };
  const look = (): void => {
    for (let free = Math.min(atOnce - busy, waiting.length); free > 0 && !isClosed(); free--) {
      busy++;
      pace.add(0, take);
    }
  };

  return {
    add(items) {
      // Sorting keeps the order of those that are equally urgent.
      waiting = [...waiting, ...items].sort((a, b) => a.priority - b.priority);
      look();
    },
    drop(deliveryIds) {
      const gone = new Set(deliveryIds);
      waiting = waiting.filter(({ deliveryId }) => !gone.has(deliveryId));
    },
    look,
  };
}
