import { newId } from "../../src/lib/ids.ts";
import { createMemoryDisk } from "./memory-disk.ts";
import { createPostgresDisk } from "./postgres-disk.ts";
import { CATALOGUE } from "./resources.ts";
import { openSimDatabase } from "./sim-database.ts";
import { type RunResult, runSeed } from "./simulation.ts";
import { createSqliteFiles } from "./sqlite-files.ts";

/** As `runSeed`, with the cloud's rows in the PostgreSQL at `url`, which several nodes serve in turn. */
export async function runOnPostgres(seed: number, steps: number, url: string): Promise<RunResult> {
  const files = createSqliteFiles();
  const database = await openSimDatabase(url, newId());
  try {
    const done = await runSeed(
      seed,
      steps,
      () => createMemoryDisk(CATALOGUE),
      (needs) => createPostgresDisk({ ...needs, files, database: database.during(needs) }),
    );
    done.figures.onPostgres = 1;
    return done;
  } finally {
    await database.close();
    files.remove();
  }
}
