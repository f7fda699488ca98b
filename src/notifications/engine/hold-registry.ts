import type { Events } from "../../lib/events.ts";
import { abortable } from "../../lib/waits.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { createDeferred, type Deferred } from "./active-broadcast-state.ts";

/**
 * Messages held until another module times them: bells. The commands are not stored: after a restart they are given
 * again.
 */
export interface HoldRegistry {
  /** Resolves once the devices of a held message may be asked. */
  waitForRelease(notificationId: string, signal: AbortSignal): Promise<void>;
  /** Calls `listener` with the time of the first packet once it is known. */
  onStart(notificationId: string, listener: (at: number) => void): void;
  release(notificationId: string): void;
  startAt(notificationId: string, at: number): void;
  /** Forgets a message. */
  forget(notificationId: string): void;
}

type HeldNotification = Pick<NotificationRow, "heldUntil" | "t0">;

interface Hold {
  released: Deferred;
  begins: number | null;
  listener: ((at: number) => void) | null;
}

/** True for a message whose audio waits for `startHeldAt`. */
export function isHeld({ heldUntil, t0 }: HeldNotification): boolean {
  return heldUntil !== null && t0 === null;
}

/** Creates the registry; a message that was ended early passes. */
export function createHoldRegistry(events: Events): HoldRegistry {
  const holds = new Map<string, Hold>();
  const holdOf = (notificationId: string): Hold => {
    const known = holds.get(notificationId);
    if (known) return known;
    const gate: Hold = { released: createDeferred(), begins: null, listener: null };
    holds.set(notificationId, gate);
    return gate;
  };
  events.on("notification.stopped", ({ notificationId }) => holds.get(notificationId)?.released.resolve());
  return {
    async waitForRelease(notificationId, signal) {
      await abortable(holdOf(notificationId).released.promise, signal);
    },
    onStart(notificationId, listener) {
      const gate = holdOf(notificationId);
      gate.listener = listener;
      if (gate.begins !== null) listener(gate.begins);
    },
    release: (notificationId) => holdOf(notificationId).released.resolve(),
    startAt(notificationId, at) {
      const gate = holdOf(notificationId);
      gate.begins = at;
      gate.released.resolve();
      gate.listener?.(at);
    },
    forget(notificationId) {
      holds.get(notificationId)?.released.resolve();
      holds.delete(notificationId);
    },
  };
}
