import { invalidValue } from "../../lib/errors.ts";
import { isTimeZone } from "../../resources/bells/time-zones.ts";
import { isCronExpression } from "../../settings/cron.ts";

/** own choice: as descriptions elsewhere */
const MAX_DESCRIPTION_LENGTH = 10_000;

/** What the members of a config that are texts must be, beside that; an empty text is none. */
const TEXT_RULES: readonly { name: string; fits(text: string): boolean; words: string }[] = [
  {
    name: "backupSchedule",
    fits: isCronExpression,
    words: "a cron expression of five or six fields, such as 30 2 * * *",
  },
  { name: "timeZone", fits: isTimeZone, words: "a zone such as Europe/Berlin" },
  {
    name: "description",
    fits: ({ length }) => length <= MAX_DESCRIPTION_LENGTH,
    words: `${MAX_DESCRIPTION_LENGTH} signs at most`,
  },
];

/** Throws CallerError for a `config` of an endpoint that the appliance could not go by. Members it does not know are kept. */
export function validateEndpointConfig(config: unknown): void {
  if (typeof config !== "object" || config === null) return;
  for (const { name, fits, words } of TEXT_RULES) {
    const value = (config as Record<string, unknown>)[name];
    if (value === undefined || value === null || value === "") continue;
    if (typeof value !== "string" || !fits(value)) throw invalidValue("config", `${name} is ${words}.`);
  }
}
