import { type Command, InvalidArgumentError } from "commander";
import { type ApiClient, listAll } from "../../api-client/api-client.ts";
import { systemClock } from "../../lib/clock.ts";
import { DAY_MS } from "../../lib/durations.ts";
import { EXIT } from "../../lib/exit-codes.ts";
import type { Terminal } from "../../lib/terminal.ts";
import { formatTable } from "../../lib/text-table.ts";
import { type ReachVerdict, VERDICT_NAMES } from "../../resources/notifications/device-outcomes.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "../appliance-options.ts";
import { readOwnEndpoint, siteTime } from "../daily/site-times.ts";

interface Ring {
  id: string;
  at: string;
  localDate: string;
  localTime: string;
  messageTemplateId: string | null;
  state: "planned" | "prepared" | "armed" | "started" | "rung" | "late" | "missed" | "skipped";
  verdict: ReachVerdict | null;
}

interface TodayRing extends Ring {
  schedule: string;
  message: string;
}

/** Schedules may be in any time zone: a local day is within this of the day in UTC. */
const ZONE_MARGIN_MS = 16 * 3_600_000;
const BAD_VERDICTS: readonly (ReachVerdict | null)[] = ["reachedNone", "reachedPartly"];

/** `carillon bells today`: what has rung, with its outcome, and what will ring. */
export function addToday(bells: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addApplianceOptions(bells.command("today"), terminal)
    .description("List the bells of today (or a day): what rang, whom it reached, and what is still to ring.")
    .option("--day <date>", "YYYY-MM-DD, in each schedule's time zone; default: today at the site", parseDay)
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon bells today\n\n" +
        "Exit code 1 when a bell was missed or late, or did not reach all its devices.",
    )
    .action(async ({ day: given, json, ...options }: ApplianceOptions & { day?: string; json?: true }) => {
      const api = apiClientFrom(options, terminal);
      const day =
        given ?? siteTime(new Date(systemClock.now()).toISOString(), (await readOwnEndpoint(api)).clock).slice(0, 10);
      const rings = await readRings(api, day);
      if (json) terminal.out(JSON.stringify({ day, rings }));
      else if (rings.length === 0) terminal.err(`No bells on ${day}.`);
      else {
        const rows = rings.map((ring) => [ring.localTime, ring.message, ring.schedule, outcomeOf(ring)]);
        for (const line of formatTable([["Time", "Bell", "Schedule", "State"], ...rows])) terminal.out(line);
      }
      const isBad = ({ state, verdict }: Ring): boolean =>
        state === "missed" || state === "late" || BAD_VERDICTS.includes(verdict);
      finish(rings.some(isBad) ? EXIT.failure : EXIT.ok);
    });
}

function parseDay(given: string): string {
  if (!/^\d{4}-\d\d-\d\d$/.test(given) || new Date(`${given}T00:00:00Z`).toJSON()?.slice(0, 10) !== given)
    throw new InvalidArgumentError("Must be a day such as 2026-09-01.");
  return given;
}

async function readRings(api: ApiClient, day: string): Promise<TodayRing[]> {
  const schedules = await listAll<{ id: string; name: string }>(api, "/bell-schedules");
  const templates = await listAll<{ id: string; name: string }>(api, "/message-templates?fields=id,name");
  const nameOf = new Map(templates.map(({ id, name }) => [id, name]));
  const midnight = Date.parse(`${day}T00:00:00Z`);
  const from = new Date(midnight - ZONE_MARGIN_MS).toISOString();
  const to = new Date(midnight + DAY_MS + ZONE_MARGIN_MS).toISOString();
  const rings: TodayRing[] = [];
  for (const { id, name: schedule } of schedules) {
    const range = `from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`;
    for (const ring of await listAll<Ring>(api, `/bell-schedules/${id}/rings?${range}`))
      if (ring.localDate === day)
        rings.push({ ...ring, schedule, message: nameOf.get(ring.messageTemplateId ?? "") ?? "(no message)" });
  }
  return rings.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

function outcomeOf({ state, verdict }: Ring): string {
  return verdict === null ? state : `${state}: ${VERDICT_NAMES[verdict].toLowerCase()}`;
}
