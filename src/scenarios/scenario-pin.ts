import { type AttemptThrottle, createAttemptThrottle } from "../auth/attempt-throttle.ts";
import type { Clock } from "../lib/clock.ts";
import { invalidValue, requiredValue, TooManyRequestsError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { matchesStoredSecret } from "../store/secret-hashes.ts";
import type { ActorContext, Secrets } from "../store/store.ts";
import type { ScenarioRow } from "./scenario-questions.ts";

/** Checks the PIN of scenarios that have one. */
export interface ScenarioPinCheck {
  /** Throws CallerError for a missing or wrong PIN, TooManyRequestsError after too many wrong ones (rate limit). */
  assertPin(scenario: ScenarioRow, given: unknown, by: ActorContext): Promise<void>;
}

/** Backoff: four wrong attempts are free, then the delay doubles from 2 s to 5 min. @source docs/decisions/0204-scenarios-incidents-and-places.md, Scenarios */
const BACKOFF = { freeAttempts: 4, initialDelayMs: 2_000, maxDelayMs: 300_000 };

/** Wrong attempts are counted per user and scenario, so that no user can lock out others. */
export function createScenarioPinCheck(secrets: Secrets, clock: Clock): ScenarioPinCheck {
  const attempts: AttemptThrottle = createAttemptThrottle(clock, BACKOFF);
  return {
    async assertPin(scenario, given, by) {
      if (scenario.confirmationType !== "pin") return;
      if (scenario.confirmationPin === null)
        throw invalidValue("confirmationPin", sentence("field.the-pin-of-this-scenario-is-not-known-here-set"));
      if (given === undefined || given === null || given === "") throw requiredValue("confirmationPin");
      const key = `${scenario.id} ${by.actor.userId ?? by.actor.name}`;
      const waitS = attempts.begin(key);
      if (waitS > 0) throw new TooManyRequestsError(waitS);
      if (!(await matchesStoredSecret(scenario.confirmationPin, String(given), secrets)))
        throw invalidValue("confirmationPin", sentence("field.wrong-pin"));
      attempts.rollback(key);
    },
  };
}
