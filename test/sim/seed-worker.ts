import { parentPort } from "node:worker_threads";
import type { killAroundBells } from "../faults/failover.ts";
import { runOnPostgres } from "./postgres-run.ts";
import { emptyStatistics } from "./run-statistics.ts";
import type { SeedResult, SeedTask, StorageBackend } from "./seed-workers.ts";
import { type RunResult, runOnMemory, runSeed } from "./simulation.ts";
import { createSqliteDisks } from "./sqlite-disk.ts";

/** A thread that runs seeds, of the product as it is or with a bug in it. */
type Planted =
  | { runOnMemory: typeof runOnMemory }
  | { runOnPostgres: typeof runOnPostgres }
  | { killAroundBells: typeof killAroundBells };

/** Bells of one world of appliances that cover for each other. */
const BELLS = 50;

async function onDisk(seed: number, steps: number): Promise<RunResult> {
  const disks = createSqliteDisks();
  try {
    const done = await runSeed(seed, steps, disks.make);
    done.figures.onDisk = 1;
    return done;
  } finally {
    disks.remove();
  }
}

function runIn(place: StorageBackend, seed: number, steps: number): Promise<RunResult> {
  if (place === "memory") return runOnMemory(seed, steps);
  return place === "sqlite" ? onDisk(seed, steps) : runOnPostgres(seed, steps, place.postgres);
}

async function run({ seed, steps, place, planted }: SeedTask): Promise<SeedResult> {
  if (planted === null) return await runIn(place, seed, steps);
  const bugged = (await import(planted)) as Planted;
  if (typeof place === "object" && "runOnPostgres" in bugged)
    return await bugged.runOnPostgres(seed, steps, place.postgres);
  if ("runOnPostgres" in bugged) throw new Error("It needs PostgreSQL.");
  if ("runOnMemory" in bugged) return await bugged.runOnMemory(seed, steps);
  const { broken } = await bugged.killAroundBells(BELLS, seed);
  return { figures: emptyStatistics(), violation: broken[0] ?? null };
}

parentPort?.on("message", (task: SeedTask) => {
  const failed = (error: unknown): SeedResult => ({
    figures: emptyStatistics(),
    violation: error instanceof Error ? String(error.stack) : String(error),
  });
  void run(task)
    .catch(failed)
    .then(({ figures, violation }) => parentPort?.postMessage({ figures, violation }));
});
