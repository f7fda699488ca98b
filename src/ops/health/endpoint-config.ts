import { invalidValue } from "../../lib/errors.ts";
import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import { isTimeZone } from "../../resources/bells/time-zones.ts";
import { isCronExpression } from "../../settings/cron.ts";

/** Same limit as descriptions of other resources. */
const MAX_DESCRIPTION_LENGTH = 10_000;

/** Rules for the string members of a config; an empty string counts as absent. */
const TEXT_RULES: readonly { name: string; fits(text: string): boolean; invalid(name: string): Sentence }[] = [
  {
    name: "backupSchedule",
    fits: isCronExpression,
    invalid: (name) => sentence("field.name-must-be-a-cron-expression", { name }),
  },
  { name: "timeZone", fits: isTimeZone, invalid: (name) => sentence("field.name-must-be-a-time-zone", { name }) },
  {
    name: "description",
    fits: ({ length }) => length <= MAX_DESCRIPTION_LENGTH,
    invalid: (name) =>
      sentence("field.name-must-be-a-string-of-at-most-limit-characters", { name, limit: MAX_DESCRIPTION_LENGTH }),
  },
];

/** Throws CallerError for an invalid endpoint `config`. Unknown members are kept. */
export function validateEndpointConfig(config: unknown): void {
  if (typeof config !== "object" || config === null) return;
  for (const { name, fits, invalid } of TEXT_RULES) {
    const value = (config as Record<string, unknown>)[name];
    if (value === undefined || value === null || value === "") continue;
    if (typeof value !== "string" || !fits(value)) throw invalidValue("config", invalid(name));
  }
}
