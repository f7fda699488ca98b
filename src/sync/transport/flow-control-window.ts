import type { Credit } from "../protocol/frames.ts";

/** Sender side of credit-based flow control for bulk frames; commands are exempt. */
export interface FlowControlWindow {
  /** Whether another frame may be sent. A frame that starts within the window may exceed it. */
  isOpen(): boolean;
  sent(bytes: number): void;
  /** The oldest unacknowledged frame was acknowledged. */
  acknowledged(): void;
}

/** A credit of 0 stops bulk. @source docs/decisions/0040-replication.md, Section 3 */
export function createFlowControlWindow({ frames, bytes }: Credit): FlowControlWindow {
  const inFlight: number[] = [];
  let inFlightBytes = 0;
  return {
    isOpen: () => inFlight.length < frames && inFlightBytes < bytes,
    sent(size) {
      inFlight.push(size);
      inFlightBytes += size;
    },
    acknowledged() {
      inFlightBytes -= inFlight.shift() ?? 0;
    },
  };
}
