import type { CommandOutcome, Frame } from "../../src/sync/protocol/frames.ts";
import type { Disk } from "./machine.ts";
import { createTwoNodeFixture } from "./two-node-fixture.ts";

/** How much is changed while an appliance is away. */
export interface Absence {
  rows: number;
  changes: number;
  /** How long it is away, ms. */
  awayMs: number;
}

/** What came of it. */
export interface CatchUpResult {
  /** Rows that were sent once it was back, and how many of them more than once. */
  sent: number;
  sentAgain: number;
  /** What became of the evacuation that was ordered while it was away, and how often it sounded. */
  stale: CommandOutcome | null;
  staleSounded: number;
  /** Emergencies that were issued while rows were coming, and from their issue to their sound, simulated ms. */
  emergencies: number;
  emergencyP50Ms: number | null;
  emergencyP99Ms: number | null;
  isEqual: boolean;
  violation: string | null;
  /** Time that the machine took for catching up, ms. */
  tookMs: number;
}

/** How often an emergency is issued while rows are coming, ms. */
const EVERY_MS = 20;

/** An appliance comes back after long, in which rows were changed again and again; pages and windows are the product's. */
export async function runCatchUpScenario(
  { rows, changes, awayMs }: Absence,
  makeDisk: () => Disk,
  clock: () => number,
): Promise<CatchUpResult> {
  const seen = new Map<string, number>();
  let isBack = false;
  const scene = await createTwoNodeFixture(makeDisk, (frame: Frame) => {
    if (!isBack || frame.t !== "rows" || frame.feed !== "down.bulk") return;
    for (const [, type, id] of frame.rows) seen.set(`${type}/${id}`, (seen.get(`${type}/${id}`) ?? 0) + 1);
  });
  const { dice, time, cloud, site, network, pass } = scene;
  const ids = Array.from({ length: rows }, () => dice.id());
  await scene.change(ids, rows);
  await pass(30_000);
  network.isUp = false;
  network.cut();
  await pass(60_000);
  scene.order("stale", "emergency", 900_000);
  await scene.change(ids, changes);
  await pass(awayMs);

  isBack = true;
  const began = clock();
  network.isUp = true;
  while (seen.size === 0 && !scene.violation()) await pass(10);
  const issuedAt = new Map<string, number>();
  for (let turn = 0; turn < 100_000 && !scene.isEqual() && !scene.violation(); turn += 1) {
    const cid = `fresh-${turn}`;
    issuedAt.set(cid, time.now());
    scene.order(cid, "emergency", 900_000);
    await pass(EVERY_MS);
  }
  const tookMs = Math.round(clock() - began);
  await pass(10_000);
  const waits = [...issuedAt].map(([cid, at]) => (site.watched.sounded.get(cid)?.[0] ?? Number.POSITIVE_INFINITY) - at);
  const outcomes = cloud.hub?.outcomes("stale");
  await pass(100);
  const found = {
    sent: [...seen.values()].reduce((sum, times) => sum + times, 0),
    sentAgain: [...seen.values()].filter((times) => times > 1).length,
    stale: (await outcomes)?.["site-a"] ?? null,
    staleSounded: site.watched.sounded.get("stale")?.length ?? 0,
    emergencies: waits.length,
    emergencyP50Ms: quantile(waits, 0.5),
    emergencyP99Ms: quantile(waits, 0.99),
    isEqual: scene.isEqual(),
    violation: scene.violation(),
    tookMs,
  };
  scene.close();
  return found;
}

/** Null where there is none, or it was never heard. */
function quantile(values: readonly number[], part: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const found = sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  return found === undefined || found === Number.POSITIVE_INFINITY ? null : Math.round(found);
}
