import { invalidValue } from "../base/errors.ts";
import { isZone } from "../resources/bells/time-zones.ts";
import { isCron } from "../settings/cron.ts";

/** own choice: as descriptions elsewhere */
const MOST_DESCRIBED = 10_000;

/** What the members of a config that are texts must be, beside that; an empty text is none. */
const TEXTS: readonly { name: string; fits(text: string): boolean; words: string }[] = [
  { name: "backupSchedule", fits: isCron, words: "a cron expression of five or six fields, such as 30 2 * * *" },
  { name: "timeZone", fits: isZone, words: "a zone such as Europe/Berlin" },
  { name: "description", fits: ({ length }) => length <= MOST_DESCRIBED, words: `${MOST_DESCRIBED} signs at most` },
];

/** Throws CallerError for a `config` of an endpoint that the appliance could not go by. Members it does not know are kept. */
export function checkEndpointConfig(config: unknown): void {
  if (typeof config !== "object" || config === null) return;
  for (const { name, fits, words } of TEXTS) {
    const value = (config as Record<string, unknown>)[name];
    if (value === undefined || value === null || value === "") continue;
    if (typeof value !== "string" || !fits(value)) throw invalidValue("config", `${name} is ${words}.`);
  }
}
