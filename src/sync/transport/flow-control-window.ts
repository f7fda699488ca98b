import type { Credit } from "../protocol/frames.ts";

/** What one side may have on its way in bulk before the other acknowledges; commands need none of it. */
export interface FlowControlWindow {
  /** Whether another frame may go. One that begins within the window may reach over its end. */
  isOpen(): boolean;
  sent(bytes: number): void;
  /** The oldest frame on its way was taken. */
  acknowledged(): void;
}

/** Makes the window that the other side granted. A credit of 0 stops bulk. @source replication.md 3 */
export function createFlowControlWindow({ frames, bytes }: Credit): FlowControlWindow {
  const onTheWay: number[] = [];
  let sum = 0;
  return {
    isOpen: () => onTheWay.length < frames && sum < bytes,
    sent(size) {
      onTheWay.push(size);
      sum += size;
    },
    acknowledged() {
      sum -= onTheWay.shift() ?? 0;
    },
  };
}
