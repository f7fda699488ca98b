import { invalidValue } from "../../lib/errors.ts";
import { isTimeZone } from "../../resources/bells/time-zones.ts";
import { isCronExpression } from "../../settings/cron.ts";

/** Same limit as descriptions of other resources. */
const MAX_DESCRIPTION_LENGTH = 10_000;

/** Rules for the string members of a config; an empty string counts as absent. */
const TEXT_RULES: readonly { name: string; fits(text: string): boolean; expected: string }[] = [
  {
    name: "backupSchedule",
    fits: isCronExpression,
    expected: "a cron expression of five or six fields, such as 30 2 * * *",
  },
  { name: "timeZone", fits: isTimeZone, expected: "a time zone such as Europe/Berlin" },
  {
    name: "description",
    fits: ({ length }) => length <= MAX_DESCRIPTION_LENGTH,
    expected: `a string of at most ${MAX_DESCRIPTION_LENGTH} characters`,
  },
];

/** Throws CallerError for an invalid endpoint `config`. Unknown members are kept. */
export function validateEndpointConfig(config: unknown): void {
  if (typeof config !== "object" || config === null) return;
  for (const { name, fits, expected } of TEXT_RULES) {
    const value = (config as Record<string, unknown>)[name];
    if (value === undefined || value === null || value === "") continue;
    if (typeof value !== "string" || !fits(value)) throw invalidValue("config", `${name} must be ${expected}.`);
  }
}
