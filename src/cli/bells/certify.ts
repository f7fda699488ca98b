import type { Command } from "commander";
import { parseDayNumber } from "../../bells/local-time.ts";
import { systemClock } from "../../lib/clock.ts";
import { DAY_MS } from "../../lib/durations.ts";
import { CallerError, invalidValue } from "../../lib/errors.ts";
import { EXIT } from "../../lib/exit-codes.ts";
import type { Terminal } from "../../lib/terminal.ts";
import type { RingTotals } from "../../tools/bell-simulation/ring-ledger.ts";
import type { SimulationShare } from "../../tools/bell-simulation/run-share.ts";
import type { BellCertificate } from "../../tools/bell-simulation/simulation.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "../appliance-options.ts";
import { readTimetables } from "./read-timetables.ts";

interface CertifyOptions extends ApplianceOptions {
  from?: string;
  to?: string;
  fixture?: string;
  schedules: string;
  seed: string;
  json?: true;
}

/** Disruptions within eleven months, a school year. */
const DISRUPTIONS = { restarts: 1_000, steps: 200, suspends: 100 };
const FIXTURE_YEAR = 2026;
/** A second worker helps on machines with two cores. */
const WORKERS = 2;

/** `carillon bells certify`: verifies by simulation that no bell of a year is missed or rung twice. */
export function addCertify(bells: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addApplianceOptions(bells.command("certify"), terminal)
    .description(
      "Simulate planner and ticker over the whole period with restarts, clock steps and suspends; exit 1 if a ring is lost or duplicated.",
    )
    .option("--from <date>", "first day, YYYY-MM-DD")
    .option("--to <date>", "last day, YYYY-MM-DD")
    .option("--fixture <name>", "`stress`: generated schedules over all time zones instead of the appliance's")
    .option("--schedules <n>", "number of schedules of the fixture", "3500")
    .option("--seed <n>", "seed of the random disruptions", "1")
    .option("--json", "print only the certificate, as JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon bells certify --from 2026-08-01 --to 2027-07-01\n\n" +
        "Simulates the appliance's schedules; nothing is played, and the daemon may run at the same time.",
    )
    .action(async (options: CertifyOptions) => {
      const { runShare } = await import("../../tools/bell-simulation/run-share.ts");
      const startedAt = systemClock.monotonicMs();
      const share = await buildShare(options, terminal);
      const certificates = await Promise.all(
        Array.from({ length: WORKERS }, (_, part) => runShare({ ...share, part, parts: WORKERS })),
      );
      const seconds = Math.round((systemClock.monotonicMs() - startedAt) / 1_000);
      finish(printCertificate(certificates, seconds, share, options, terminal));
    });
}

async function buildShare(
  options: CertifyOptions,
  terminal: Terminal,
): Promise<Omit<SimulationShare, "part" | "parts">> {
  if (options.fixture !== undefined && options.fixture !== "stress") throw invalidValue("fixture", "Must be stress.");
  const seed = parseNumber(options.seed, "seed");
  const from = options.from ?? `${FIXTURE_YEAR}-08-01`;
  const to = options.to ?? `${FIXTURE_YEAR + 1}-07-01`;
  const fromMs = parseDayNumber(from) * DAY_MS;
  const toMs = (parseDayNumber(to) + 1) * DAY_MS;
  if (!(toMs - fromMs >= 3 * DAY_MS))
    throw new CallerError("invalid-value", "--from and --to must be dates YYYY-MM-DD, at least three days apart.");
  const share = (toMs - fromMs) / (335 * DAY_MS);
  const disruptions = Object.fromEntries(
    Object.entries(DISRUPTIONS).map(([name, count]) => [name, Math.max(1, Math.round(count * Math.min(1, share)))]),
  ) as typeof DISRUPTIONS;
  const year = Number(from.slice(0, 4));
  const fixture = options.fixture ? { count: parseNumber(options.schedules, "schedules"), year, seed } : null;
  const timetables = fixture ? [] : await readTimetables(apiClientFrom(options, terminal));
  return { fixture, timetables, fromMs, toMs, seed, ...disruptions };
}

function parseNumber(text: string, option: string): number {
  if (!/^\d{1,6}$/.test(text)) throw invalidValue(option, "Must be an integer between 0 and 999999.");
  return Number(text);
}

function printCertificate(
  certificates: readonly BellCertificate[],
  seconds: number,
  share: Omit<SimulationShare, "part" | "parts">,
  { json }: CertifyOptions,
  terminal: Terminal,
): number {
  const all = addTotals(certificates.map((each) => each.all));
  const zones = new Set(certificates.flatMap(({ byZone }) => [...byZone.keys()]));
  const byZone = Object.fromEntries(
    [...zones].sort().map((zone) => [zone, addTotals(certificates.flatMap((each) => each.byZone.get(zone) ?? []))]),
  );
  const findings = certificates.flatMap((each) => each.findings);
  const minOf = (count: "restarts" | "steps" | "suspends"): number =>
    Math.min(...certificates.map((each) => each[count]));
  const [restarts, steps, suspends] = [minOf("restarts"), minOf("steps"), minOf("suspends")];
  if (!json) {
    terminal.out(`Bells from ${dateText(share.fromMs)} to ${dateText(share.toMs - DAY_MS)}, ${zones.size} time zones`);
    terminal.out(`  disruptions  ${restarts} restarts, ${steps} clock steps, ${suspends} suspends`);
    for (const [name, count] of Object.entries(all)) terminal.out(`  ${name.padEnd(13)}${count.toLocaleString("en")}`);
    terminal.out("Planner and ticker are those of the appliance. The clock is simulated, the database is in memory,");
    terminal.out(
      "two simulated appliances share the schedules and have the same disruptions, and rings are recorded instead of played.",
    );
    terminal.out(
      "Missed: the appliance was down, suspended or its clock stepped past the ring, for more than 30 s; each miss was recorded.",
    );
    for (const { what, owner, at } of findings)
      terminal.err(`  ${what}: schedule ${owner}, ${new Date(at).toISOString()}`);
  }
  terminal.out(JSON.stringify({ ...all, restarts, steps, suspends, seconds, ...(json ? { byZone, findings } : {}) }));
  return all.unexplained + all.doubled === 0 && all.expected > 0 ? EXIT.ok : EXIT.failure;
}

function addTotals(sums: readonly RingTotals[]): RingTotals {
  const total: RingTotals = { expected: 0, rung: 0, late: 0, missed: 0, unexplained: 0, doubled: 0 };
  for (const each of sums) for (const key of Object.keys(total) as (keyof RingTotals)[]) total[key] += each[key];
  return total;
}

function dateText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
