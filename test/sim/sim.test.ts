import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FAILOVER_BUGS } from "../faults/failover-bugs.ts";
import { externalProgram } from "../support/external-programs.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { restoreOldBackup } from "./backup-restore.ts";
import { loadModuleWithBug, loadSimulationWithBug } from "./bug-loader.ts";
import { runCatchUpScenario } from "./catch-up.ts";
import { createMemoryDisk } from "./memory-disk.ts";
import { PLANTED_BUGS, type PlantedBug } from "./planted-bugs.ts";
import { POSTGRES_BUGS } from "./postgres-bugs.ts";
import { runOnPostgres } from "./postgres-run.ts";
import { CATALOGUE } from "./resources.ts";
import { addStatistics, emptyStatistics } from "./run-statistics.ts";
import { runOnMemory, runSeed } from "./simulation.ts";
import { createSqliteDisks } from "./sqlite-disk.ts";

const postgres = externalProgram("pg_ctlcluster");
const ROOT = new URL("../../", import.meta.url).pathname;

describe("sync simulation", () => {
  it("finds no violation in some seeds", async () => {
    for (const seed of [1, 2, 18, 43, 48]) {
      expect({ seed, violation: (await runOnMemory(seed, 100)).violation }).toEqual({ seed, violation: null });
    }
  });

  it("is deterministic by seed", async () => {
    const [one, again, other] = [await runOnMemory(7, 40), await runOnMemory(7, 40), await runOnMemory(8, 40)];
    expect(again).toEqual(one);
    expect(other.trace).not.toBe(one.trace);
    expect(one.figures).not.toEqual(emptyStatistics());
  });

  it("finds no violation on real files", async () => {
    const disks = createSqliteDisks();
    const { violation, figures } = await runSeed(10, 40, disks.make);
    disks.remove();
    expect(violation).toBeNull();
    expect(figures.crashes + figures.marks).toBeGreaterThan(0);
  });

  it("catches up with each row once however often it changed, and plays nothing stale", async () => {
    const away = { rows: 500, changes: 3_000, awayMs: 1_800_000 };
    const found = await runCatchUpScenario(
      away,
      () => createMemoryDisk(CATALOGUE),
      () => 0,
    );
    expect(found).toMatchObject({
      sent: 500,
      sentAgain: 0,
      stale: "expired",
      staleSounded: 0,
      isEqual: true,
      violation: null,
    });
    expect(found.emergencies).toBeGreaterThan(1);
    expect(found.emergencyP99Ms).toBeLessThan(300);
  });

  it.each(["appliance", "cloud"] as const)(
    "agrees after a backup of the %s was restored, and plays nothing old",
    async (side) => {
      const day = { rows: 100, commands: 8, dayMs: 1_800_000 };
      const found = await restoreOldBackup(side, day, () => createMemoryDisk(CATALOGUE));
      expect(found).toMatchObject({ diverged: 0, soundedAgain: 0, violation: null });
      expect(found.commands).toBeGreaterThan(8);
      expect(found.rows).toBeGreaterThan(50);
    },
  );

  it("plants bugs whose texts occur exactly once in the sources", () => {
    for (const { name, file, changes } of [...PLANTED_BUGS, ...POSTGRES_BUGS, ...FAILOVER_BUGS]) {
      const text = readFileSync(join(ROOT, file), "utf8");
      for (const [found] of changes) expect({ name, times: text.split(found).length - 1 }).toEqual({ name, times: 1 });
    }
  });

  it("finds a planted bug", async () => {
    const [staging] = PLANTED_BUGS as [PlantedBug];
    const runPlanted = await loadSimulationWithBug(staging, ROOT);
    const found: (string | null)[] = [];
    for (const seed of [1, 2, 3, 4]) found.push((await runPlanted(seed, 200)).violation);
    expect(found).toContainEqual(expect.stringMatching(/^I2: /));
  });
});

postgres.describe("sync simulation with PostgreSQL", () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres();
  }, 120_000);
  afterAll(() => server?.stop());

  postgres.it(
    "finds no violation in some seeds with crashing nodes, database outages and takeovers",
    async () => {
      const all = emptyStatistics();
      for (const seed of [1, 7]) {
        const { violation, figures } = await runOnPostgres(seed, 150, server.url);
        expect({ seed, violation }).toEqual({ seed, violation: null });
        addStatistics(all, figures);
      }
      for (const what of ["crashes", "broken", "marks"] as const)
        expect({ what, times: all[what] }).not.toEqual({ what, times: 0 });
    },
    300_000,
  );

  postgres.it(
    "is deterministic by seed however long the database takes",
    async () => {
      const [one, again] = [await runOnPostgres(5, 40, server.url), await runOnPostgres(5, 40, server.url)];
      expect(again).toEqual(one);
      expect((await runOnPostgres(6, 40, server.url)).trace).not.toBe(one.trace);
    },
    300_000,
  );

  postgres.it(
    "finds a planted bug of the PostgreSQL row log",
    async () => {
      const planted = POSTGRES_BUGS.find(({ name }) => name === "broken-commit-assumed-committed") as PlantedBug;
      const bugged = await loadModuleWithBug<{ runOnPostgres: typeof runOnPostgres }>(
        planted,
        ROOT,
        "test/sim/postgres-run.ts",
      );
      let found: string | null = null;
      for (let seed = 1; seed <= 4 && found === null; seed += 1)
        found = (await bugged.runOnPostgres(seed, 200, server.url)).violation;
      expect(found).toBe("what was answered is not in the database");
    },
    300_000,
  );
});
