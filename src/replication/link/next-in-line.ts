import type { Clock, Timer } from "../../base/clock.ts";
import type { Command } from "../frames.ts";

/** A message as one appliance has it to sound. */
export interface Carriage {
  endpoint: string;
  command: Command;
  notificationId: string;
  /** The cloud's numbers of the deliveries. */
  deliveries: readonly number[];
  level: number;
  /** Appliances that may sound it, in the order in which they are tried. */
  line: readonly string[];
  /** Those that had it to sound, this one last. */
  tried: readonly string[];
  /** Who has it to sound now in its place. */
  passedTo: Carriage | null;
  /** What the appliance said of it so far. */
  said: "nothing" | "taken" | "started";
}

/** What watching needs. */
export interface WatchNeeds {
  clock: Pick<Clock, "now" | "after">;
  isLinked(endpoint: string): boolean;
  /** Hands it to another appliance; false where that was of no use. Never rejects. */
  passOn(carriage: Carriage, to: string, why: string): Promise<boolean>;
}

/** Sees to it that an appliance which is not there is not waited for. */
export interface Watch {
  begin(carriage: Carriage): void;
  /** The appliance said something of it. */
  told(carriage: Carriage, said: "taken" | "started"): void;
  end(carriage: Carriage): void;
}

/**
 * So long an appliance has to say that it has a message, and then that it is heard; ms. own choice: an emergency is a row
 * on the hot lane and 2 s for its files; it is better heard twice than late. An announcement may wait for what sounds.
 */
const PATIENCE = {
  emergency: { nothing: 3_000, taken: 15_000 },
  routine: { nothing: 10_000, taken: 30_000 },
} as const;

/** Makes it. */
export function createWatch({ clock, isLinked, passOn }: WatchNeeds): Watch {
  const timers = new Map<Carriage, Timer>();

  function lookIn(carriage: Carriage, delayMs: number): void {
    timers.get(carriage)?.cancel();
    timers.set(
      carriage,
      clock.after(delayMs, () => look(carriage), { background: true }),
    );
  }

  const patienceWith = ({ level, said }: Carriage): number =>
    PATIENCE[level === 0 ? "emergency" : "routine"][said === "taken" ? "taken" : "nothing"];

  function look(carriage: Carriage): void {
    if (clock.now() > carriage.command.notAfter) {
      end(carriage);
      return;
    }
    const { endpoint, said, level } = carriage;
    const isThere = isLinked(endpoint);
    // Who has taken an announcement and is there sounds it in its time, such as after another one.
    const next = said === "taken" && isThere && level > 0 ? null : nextInLine(carriage, isLinked);
    if (next === null) {
      lookIn(carriage, patienceWith(carriage));
      return;
    }
    const why = !isThere ? "is not connected" : said === "taken" ? "did not begin it" : "did not answer";
    timers.delete(carriage);
    void passOn(carriage, next, why).then((isPassed) => {
      if (!isPassed && carriage.passedTo === null && carriage.said !== "started")
        lookIn(carriage, patienceWith(carriage));
    });
  }

  function end(carriage: Carriage): void {
    timers.get(carriage)?.cancel();
    timers.delete(carriage);
  }

  return {
    begin(carriage) {
      if (carriage.line.length === 0) return;
      lookIn(carriage, isLinked(carriage.endpoint) ? patienceWith(carriage) : 0);
    },
    told(carriage, said) {
      if (carriage.said === "started") return;
      carriage.said = said;
      if (said === "started") end(carriage);
      else if (timers.has(carriage)) lookIn(carriage, patienceWith(carriage));
    },
    end,
  };
}

/**
 * The next appliance that is there and was not asked yet; in an emergency, once all were, also another one that is back.
 * Null where there is none.
 */
export function nextInLine(
  { endpoint, line, tried, level }: Carriage,
  isLinked: WatchNeeds["isLinked"],
): string | null {
  const there = line.filter((id) => id !== endpoint && isLinked(id));
  const isUrgentAgain = level === 0 && !isLinked(endpoint);
  return there.find((id) => !tried.includes(id)) ?? (isUrgentAgain ? there[0] : undefined) ?? null;
}
