import type { Credit } from "./frames.ts";

/** What one side may have on its way in bulk before the other acknowledges; commands need none of it. */
export interface SendWindow {
  /** Whether another frame may go. One that begins within the window may reach over its end. */
  isOpen(): boolean;
  sent(bytes: number): void;
  /** The oldest frame on its way was taken. */
  taken(): void;
}

/** Makes the window that the other side granted. A credit of 0 stops bulk. @source replication.md 3 */
export function createSendWindow({ frames, bytes }: Credit): SendWindow {
  const onTheWay: number[] = [];
  let sum = 0;
  return {
    isOpen: () => onTheWay.length < frames && sum < bytes,
    sent(size) {
      onTheWay.push(size);
      sum += size;
    },
    taken() {
      sum -= onTheWay.shift() ?? 0;
    },
  };
}
