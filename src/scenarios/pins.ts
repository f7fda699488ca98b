import { timingSafeEqual } from "node:crypto";
import { type Attempts, createAttempts } from "../access/attempts.ts";
import type { Clock } from "../base/clock.ts";
import { invalidValue, requiredValue, TooManyRequests } from "../base/errors.ts";
import type { By, Secrets } from "../store/store.ts";
import type { ScenarioRow } from "./questions.ts";

/** Asks for the PIN of scenarios that have one. */
export interface Pins {
  /** Throws CallerError for a missing or wrong PIN, TooManyRequests when there were too many wrong ones. */
  require(scenario: ScenarioRow, given: unknown, by: By): void;
}

/** own choice: four wrong ones are free, then the wait doubles from 2 s to 5 min */
const BACK_OFF = { free: 4, firstMs: 2_000, mostMs: 300_000 };

/** Makes the check; wrong attempts are counted by user and scenario, so that nobody locks others out. */
export function createPins(secrets: Secrets, clock: Clock): Pins {
  const attempts: Attempts = createAttempts(clock, BACK_OFF);
  return {
    require(scenario, given, by) {
      if (scenario.confirmationType !== "pin") return;
      if (scenario.confirmationPin === null)
        throw invalidValue("confirmationPin", "The number of this scenario is not known here: it has to be set anew.");
      if (given === undefined || given === null || given === "") throw requiredValue("confirmationPin");
      const key = `${scenario.id} ${by.actor.userId ?? by.actor.name}`;
      const waitS = attempts.begin(key);
      if (waitS > 0) throw new TooManyRequests(waitS);
      if (!isSame(secrets.open(scenario.confirmationPin), String(given)))
        throw invalidValue("confirmationPin", "It is not the number of this scenario.");
      attempts.takeBack(key);
    },
  };
}

function isSame(pin: string, given: string): boolean {
  const [a, b] = [Buffer.from(pin), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
