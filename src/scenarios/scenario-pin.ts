import { timingSafeEqual } from "node:crypto";
import { type AttemptThrottle, createAttemptThrottle } from "../auth/attempt-throttle.ts";
import type { Clock } from "../lib/clock.ts";
import { invalidValue, requiredValue, TooManyRequestsError } from "../lib/errors.ts";
import type { ActorContext, Secrets } from "../store/store.ts";
import type { ScenarioRow } from "./scenario-questions.ts";

/** Asks for the PIN of scenarios that have one. */
export interface ScenarioPinCheck {
  /** Throws CallerError for a missing or wrong PIN, TooManyRequests when there were too many wrong ones. */
  assertPin(scenario: ScenarioRow, given: unknown, by: ActorContext): void;
}

/** own choice: four wrong ones are free, then the wait doubles from 2 s to 5 min */
const BACKOFF = { freeAttempts: 4, initialDelayMs: 2_000, maxDelayMs: 300_000 };

/** Makes the check; wrong attempts are counted by user and scenario, so that nobody locks others out. */
export function createScenarioPinCheck(secrets: Secrets, clock: Clock): ScenarioPinCheck {
  const attempts: AttemptThrottle = createAttemptThrottle(clock, BACKOFF);
  return {
    assertPin(scenario, given, by) {
      if (scenario.confirmationType !== "pin") return;
      if (scenario.confirmationPin === null)
        throw invalidValue("confirmationPin", "The number of this scenario is not known here: it has to be set anew.");
      if (given === undefined || given === null || given === "") throw requiredValue("confirmationPin");
      const key = `${scenario.id} ${by.actor.userId ?? by.actor.name}`;
      const waitS = attempts.begin(key);
      if (waitS > 0) throw new TooManyRequestsError(waitS);
      if (!isSamePinText(secrets.open(scenario.confirmationPin), String(given)))
        throw invalidValue("confirmationPin", "It is not the number of this scenario.");
      attempts.rollback(key);
    },
  };
}

function isSamePinText(pin: string, given: string): boolean {
  const [a, b] = [Buffer.from(pin), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
