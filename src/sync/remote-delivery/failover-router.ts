import type { Clock, Timer } from "../../lib/clock.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { SyncCommand } from "../protocol/frames.ts";

/** A notification that was handed to one appliance. */
export interface RelayedCommand {
  endpoint: string;
  command: SyncCommand;
  notificationId: string;
  /** The cloud's delivery numbers. */
  deliveries: readonly number[];
  level: number;
  /** Appliances that may play it, in order of preference. */
  candidates: readonly string[];
  /** Appliances that had it, this one last. */
  tried: readonly string[];
  /** The relay that replaced this one. */
  reassignedTo: RelayedCommand | null;
  /** Progress reported by the appliance. */
  progress: "nothing" | "taken" | "started";
}

export interface RelayMonitorDeps {
  clock: Pick<Clock, "now" | "after">;
  isLinked(endpoint: string): boolean;
  /** Hands it to another appliance; false if that had no effect. Never rejects. */
  reassign(relay: RelayedCommand, to: string, why: string): Promise<boolean>;
}

/** Times out relays whose appliance is not connected or does not respond, and reassigns them. */
export interface RelayMonitor {
  start(relay: RelayedCommand): void;
  /** The appliance reported progress. */
  recordProgress(relay: RelayedCommand, progress: "taken" | "started"): void;
  stop(relay: RelayedCommand): void;
}

/**
 * Time for an appliance to report that it has a notification, and then that it plays it; ms. A routine notification may
 * have to wait for another one that plays.
 * @source docs/decisions/0302-remote-delivery.md
 */
const RESPONSE_TIMEOUTS = {
  emergency: { nothing: 3_000, taken: 15_000 },
  routine: { nothing: 10_000, taken: 30_000 },
} as const;

export function createRelayMonitor({ clock, isLinked, reassign }: RelayMonitorDeps): RelayMonitor {
  const timers = new Map<RelayedCommand, Timer>();

  function checkAfter(relay: RelayedCommand, delayMs: number): void {
    timers.get(relay)?.cancel();
    timers.set(
      relay,
      clock.after(delayMs, () => check(relay), { background: true }),
    );
  }

  const responseTimeout = ({ level, progress }: RelayedCommand): number =>
    RESPONSE_TIMEOUTS[level === 0 ? "emergency" : "routine"][progress === "taken" ? "taken" : "nothing"];

  function check(relay: RelayedCommand): void {
    if (clock.now() > relay.command.notAfter) {
      stop(relay);
      return;
    }
    const { endpoint, progress, level } = relay;
    const isConnected = isLinked(endpoint);
    // A connected appliance that has a routine notification plays it in time, for example after another one.
    const next = progress === "taken" && isConnected && level > 0 ? null : nextCandidate(relay, isLinked);
    if (next === null) {
      checkAfter(relay, responseTimeout(relay));
      return;
    }
    const why = !isConnected
      ? sentence("activity.relayed-not-connected")
      : sentence(progress === "taken" ? "activity.relayed-not-started" : "activity.relayed-silent");
    timers.delete(relay);
    void reassign(relay, next, why).then((isReassigned) => {
      if (!isReassigned && relay.reassignedTo === null && relay.progress !== "started")
        checkAfter(relay, responseTimeout(relay));
    });
  }

  function stop(relay: RelayedCommand): void {
    timers.get(relay)?.cancel();
    timers.delete(relay);
  }

  return {
    start(relay) {
      if (relay.candidates.length === 0) return;
      checkAfter(relay, isLinked(relay.endpoint) ? responseTimeout(relay) : 0);
    },
    recordProgress(relay, progress) {
      if (relay.progress === "started") return;
      relay.progress = progress;
      if (progress === "started") stop(relay);
      else if (timers.has(relay)) checkAfter(relay, responseTimeout(relay));
    },
    stop,
  };
}

/**
 * The next connected candidate that was not tried yet. For an emergency whose appliance is disconnected, once all were
 * tried, any other connected one. Null if there is none.
 */
export function nextCandidate(
  { endpoint, candidates, tried, level }: RelayedCommand,
  isLinked: RelayMonitorDeps["isLinked"],
): string | null {
  const there = candidates.filter((id) => id !== endpoint && isLinked(id));
  const isUrgentAgain = level === 0 && !isLinked(endpoint);
  return there.find((id) => !tried.includes(id)) ?? (isUrgentAgain ? there[0] : undefined) ?? null;
}
