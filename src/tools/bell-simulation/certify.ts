import { Worker } from "node:worker_threads";
import type { Command } from "commander";
import { parseDayNumber } from "../../bells/local-time.ts";
import { DAY_MS } from "../../bells/time-zones.ts";
import type { Timetable } from "../../bells/timetables.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "../../cli/appliance-options.ts";
import { readTimetables } from "../../cli/bells/read-timetables.ts";
import { EXIT } from "../../cli/exit-codes.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { systemClock } from "../../lib/clock.ts";
import { CallerError, invalidValue } from "../../lib/errors.ts";
import { workerEntry } from "../../lib/worker-entry.ts";
import type { RingTotals } from "./ring-ledger.ts";
import type { BellCertificate } from "./simulation.ts";

/** What one worker simulates: every `parts`th schedule from `part` on, each with the same mishaps. */
export interface SimulationShare {
  fixture: { count: number; year: number; seed: number } | null;
  timetables: readonly Timetable[];
  part: number;
  parts: number;
  fromMs: number;
  toMs: number;
  seed: number;
  restarts: number;
  steps: number;
  suspends: number;
}

interface CertifyOptions extends ApplianceOptions {
  from?: string;
  to?: string;
  fixture?: string;
  schedules: string;
  seed: string;
  json?: true;
}

/** What a school year has to stand. @source issue figures: 1,000 restarts, 200 steps, 100 suspends over eleven months */
const DISRUPTIONS = { restarts: 1_000, steps: 200, suspends: 100 };
const FIXTURE_YEAR = 2026;
/** Two: one more helps where there are two processors. own choice */
const SHARES = 2;

/** `carillon bells certify`: proves by simulation that a year of bells neither misses nor doubles one. */
export function addCertify(bells: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addApplianceOptions(bells.command("certify"), terminal)
    .description(
      "Run planner and ticker through the whole time with restarts, clock steps and suspends; exit 1 if a ring is lost or doubled.",
    )
    .option("--from <date>", "first day, YYYY-MM-DD")
    .option("--to <date>", "last day, YYYY-MM-DD")
    .option("--fixture <name>", "`stress`: made-up schedules over all time zones instead of the appliance's")
    .option("--schedules <n>", "how many schedules the fixture has", "3500")
    .option("--seed <n>", "another seed, other mishaps", "1")
    .option("--json", "print the certificate as JSON alone")
    .addHelpText(
      "after",
      "\nExample:\n  carillon bells certify --from 2026-08-01 --to 2027-07-01\n\n" +
        "It is about the schedules of the appliance; nothing sounds, and it may run beside the daemon.",
    )
    .action(async (options: CertifyOptions) => {
      const began = systemClock.monotonicMs();
      const share = await buildShare(options, terminal);
      const certificates = await Promise.all(
        Array.from({ length: SHARES }, (_, part) => runShare({ ...share, part, parts: SHARES })),
      );
      const seconds = Math.round((systemClock.monotonicMs() - began) / 1_000);
      finish(printCertificate(certificates, seconds, share, options, terminal));
    });
}

async function buildShare(
  options: CertifyOptions,
  terminal: Terminal,
): Promise<Omit<SimulationShare, "part" | "parts">> {
  if (options.fixture !== undefined && options.fixture !== "stress") throw invalidValue("fixture", "It is stress.");
  const seed = parseNumber(options.seed, "seed");
  const from = options.from ?? `${FIXTURE_YEAR}-08-01`;
  const to = options.to ?? `${FIXTURE_YEAR + 1}-07-01`;
  const fromMs = parseDayNumber(from) * DAY_MS;
  const toMs = (parseDayNumber(to) + 1) * DAY_MS;
  if (!(toMs - fromMs >= 3 * DAY_MS))
    throw new CallerError("invalid-value", "--from and --to are days YYYY-MM-DD, three days apart at least.");
  const spanned = (toMs - fromMs) / (335 * DAY_MS);
  const mishaps = Object.fromEntries(
    Object.entries(DISRUPTIONS).map(([name, count]) => [name, Math.max(1, Math.round(count * Math.min(1, spanned)))]),
  ) as typeof DISRUPTIONS;
  const year = Number(from.slice(0, 4));
  const fixture = options.fixture ? { count: parseNumber(options.schedules, "schedules"), year, seed } : null;
  const timetables = fixture ? [] : await readTimetables(apiClientFrom(options, terminal));
  return { fixture, timetables, fromMs, toMs, seed, ...mishaps };
}

function parseNumber(text: string, option: string): number {
  if (!/^\d{1,6}$/.test(text)) throw invalidValue(option, "It is a number.");
  return Number(text);
}

function runShare(share: SimulationShare): Promise<BellCertificate> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(workerEntry(import.meta.url, "./certify-worker"), { workerData: share });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new CallerError("invalid-value", `The simulation ended with ${code}.`)));
  });
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
  const least = (count: "restarts" | "steps" | "suspends"): number =>
    Math.min(...certificates.map((each) => each[count]));
  const [restarts, steps, suspends] = [least("restarts"), least("steps"), least("suspends")];
  if (!json) {
    terminal.out(`Bells from ${dateText(share.fromMs)} to ${dateText(share.toMs - DAY_MS)}, ${zones.size} time zones`);
    terminal.out(`  mishaps      ${restarts} restarts, ${steps} clock steps, ${suspends} suspends`);
    for (const [name, count] of Object.entries(all)) terminal.out(`  ${name.padEnd(13)}${count.toLocaleString("en")}`);
    terminal.out(
      "Planner and ticker are those of the appliance. The clock is turned by hand, the database lies in memory,",
    );
    terminal.out(
      "the schedules are dealt out to two appliances with the same mishaps, a counter stands where broadcasts begin.",
    );
    terminal.out(
      "Missed: the appliance was off, stood still or had its clock set past the ring for more than 30 s; each left its record.",
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
