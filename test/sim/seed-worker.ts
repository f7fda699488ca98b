import { parentPort } from "node:worker_threads";
import type { killAroundBells } from "../faults/failover.ts";
import type { Came, Task } from "./crew.ts";
import { noFigures } from "./figures.ts";
import { createSqliteDisks } from "./sqlite-disk.ts";
import { type Run, runOnMemory, runSeed } from "./world.ts";

/** A thread that runs seeds, of the product as it is or with a bug in it. */
type Planted = { runOnMemory: typeof runOnMemory } | { killAroundBells: typeof killAroundBells };

/** Bells of one world of appliances that cover for each other. */
const BELLS = 50;

async function onDisk(seed: number, steps: number): Promise<Run> {
  const disks = createSqliteDisks();
  try {
    const done = await runSeed(seed, steps, disks.make);
    done.figures.onDisk = 1;
    return done;
  } finally {
    disks.remove();
  }
}

async function run({ seed, steps, isOnDisk, planted }: Task): Promise<Came> {
  if (planted === null) return await (isOnDisk ? onDisk(seed, steps) : runOnMemory(seed, steps));
  const bugged = (await import(planted)) as Planted;
  if ("runOnMemory" in bugged) return await bugged.runOnMemory(seed, steps);
  const { broken } = await bugged.killAroundBells(BELLS, seed);
  return { figures: noFigures(), violation: broken[0] ?? null };
}

parentPort?.on("message", (task: Task) => {
  const failed = (error: unknown): Came => ({
    figures: noFigures(),
    violation: error instanceof Error ? String(error.stack) : String(error),
  });
  void run(task)
    .catch(failed)
    .then(({ figures, violation }) => parentPort?.postMessage({ figures, violation }));
});
