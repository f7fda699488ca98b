import type { Events } from "../base/events.ts";
import type { NotificationRow } from "./compose.ts";
import { createSignal, type Signal } from "./live-state.ts";
import { untilAborted } from "./until-aborted.ts";

/** Where messages wait that somebody else times: bells. What was said is not stored: after a restart it is said again. */
export interface Gates {
  /** Resolves once the devices of a message that is held back may be asked. */
  released(notificationId: string, signal: AbortSignal): Promise<void>;
  /** Calls `listener` with the moment of the first packet once it is known. */
  whenBegun(notificationId: string, listener: (at: number) => void): void;
  release(notificationId: string): void;
  begin(notificationId: string, at: number): void;
  /** Nothing of the message is to be expected any more. */
  forget(notificationId: string): void;
}

type Held = Pick<NotificationRow, "heldUntil" | "t0">;

interface Gate {
  released: Signal;
  begins: number | null;
  listener: ((at: number) => void) | null;
}

/** True for a message whose sound waits for `begin`. */
export function isHeld({ heldUntil, t0 }: Held): boolean {
  return heldUntil !== null && t0 === null;
}

/** Makes gates, all closed; a message that somebody ended passes. */
export function createGates(events: Events): Gates {
  const gates = new Map<string, Gate>();
  const gateOf = (notificationId: string): Gate => {
    const known = gates.get(notificationId);
    if (known) return known;
    const gate: Gate = { released: createSignal(), begins: null, listener: null };
    gates.set(notificationId, gate);
    return gate;
  };
  events.on("notification.stopped", ({ notificationId }) => gates.get(notificationId)?.released.give());
  return {
    async released(notificationId, signal) {
      await untilAborted(gateOf(notificationId).released.given, signal);
    },
    whenBegun(notificationId, listener) {
      const gate = gateOf(notificationId);
      gate.listener = listener;
      if (gate.begins !== null) listener(gate.begins);
    },
    release: (notificationId) => gateOf(notificationId).released.give(),
    begin(notificationId, at) {
      const gate = gateOf(notificationId);
      gate.begins = at;
      gate.released.give();
      gate.listener?.(at);
    },
    forget(notificationId) {
      gates.get(notificationId)?.released.give();
      gates.delete(notificationId);
    },
  };
}
