import type { Clock, Timer } from "../../lib/clock.ts";
import type { SyncCommand } from "../protocol/frames.ts";

/** A message as one appliance has it to sound. */
export interface RelayedCommand {
  endpoint: string;
  command: SyncCommand;
  notificationId: string;
  /** The cloud's numbers of the deliveries. */
  deliveries: readonly number[];
  level: number;
  /** Appliances that may sound it, in the order in which they are tried. */
  candidates: readonly string[];
  /** Those that had it to sound, this one last. */
  tried: readonly string[];
  /** Who has it to sound now in its place. */
  reassignedTo: RelayedCommand | null;
  /** What the appliance said of it so far. */
  progress: "nothing" | "taken" | "started";
}

/** What watching needs. */
export interface RelayMonitorDeps {
  clock: Pick<Clock, "now" | "after">;
  isLinked(endpoint: string): boolean;
  /** Hands it to another appliance; false where that was of no use. Never rejects. */
  reassign(carriage: RelayedCommand, to: string, why: string): Promise<boolean>;
}

/** Sees to it that an appliance which is not there is not waited for. */
export interface RelayMonitor {
  start(carriage: RelayedCommand): void;
  /** The appliance said something of it. */
  recordProgress(carriage: RelayedCommand, said: "taken" | "started"): void;
  stop(carriage: RelayedCommand): void;
}

/**
 * So long an appliance has to say that it has a message, and then that it is heard; ms. own choice: an emergency is a row
 * on the hot lane and 2 s for its files; it is better heard twice than late. An announcement may wait for what sounds.
 */
const RESPONSE_TIMEOUTS = {
  emergency: { nothing: 3_000, taken: 15_000 },
  routine: { nothing: 10_000, taken: 30_000 },
} as const;

/** Makes it. */
export function createRelayMonitor({ clock, isLinked, reassign }: RelayMonitorDeps): RelayMonitor {
  const timers = new Map<RelayedCommand, Timer>();

  function checkAfter(carriage: RelayedCommand, delayMs: number): void {
    timers.get(carriage)?.cancel();
    timers.set(
      carriage,
      clock.after(delayMs, () => check(carriage), { background: true }),
    );
  }

  const responseTimeout = ({ level, progress }: RelayedCommand): number =>
    RESPONSE_TIMEOUTS[level === 0 ? "emergency" : "routine"][progress === "taken" ? "taken" : "nothing"];

  function check(carriage: RelayedCommand): void {
    if (clock.now() > carriage.command.notAfter) {
      stop(carriage);
      return;
    }
    const { endpoint, progress, level } = carriage;
    const isThere = isLinked(endpoint);
    // Who has taken an announcement and is there sounds it in its time, such as after another one.
    const next = progress === "taken" && isThere && level > 0 ? null : nextCandidate(carriage, isLinked);
    if (next === null) {
      checkAfter(carriage, responseTimeout(carriage));
      return;
    }
    const why = !isThere ? "is not connected" : progress === "taken" ? "did not begin it" : "did not answer";
    timers.delete(carriage);
    void reassign(carriage, next, why).then((isPassed) => {
      if (!isPassed && carriage.reassignedTo === null && carriage.progress !== "started")
        checkAfter(carriage, responseTimeout(carriage));
    });
  }

  function stop(carriage: RelayedCommand): void {
    timers.get(carriage)?.cancel();
    timers.delete(carriage);
  }

  return {
    start(carriage) {
      if (carriage.candidates.length === 0) return;
      checkAfter(carriage, isLinked(carriage.endpoint) ? responseTimeout(carriage) : 0);
    },
    recordProgress(carriage, said) {
      if (carriage.progress === "started") return;
      carriage.progress = said;
      if (said === "started") stop(carriage);
      else if (timers.has(carriage)) checkAfter(carriage, responseTimeout(carriage));
    },
    stop,
  };
}

/**
 * The next appliance that is there and was not asked yet; in an emergency, once all were, also another one that is back.
 * Null where there is none.
 */
export function nextCandidate(
  { endpoint, candidates, tried, level }: RelayedCommand,
  isLinked: RelayMonitorDeps["isLinked"],
): string | null {
  const there = candidates.filter((id) => id !== endpoint && isLinked(id));
  const isUrgentAgain = level === 0 && !isLinked(endpoint);
  return there.find((id) => !tried.includes(id)) ?? (isUrgentAgain ? there[0] : undefined) ?? null;
}
