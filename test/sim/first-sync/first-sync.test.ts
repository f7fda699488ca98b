import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { many, ref, text } from "../../../src/schema/field.ts";
import { defineResource } from "../../../src/schema/resource.ts";
import { loadModuleWithBug } from "../bug-loader.ts";
import type { PlantedBug } from "../planted-bugs.ts";
import { FIRST_SYNC_BUGS } from "./first-sync-bugs.ts";
import { type FirstSyncResult, productCatalogue, runFirstSync } from "./first-sync-run.ts";
import { missingFrom } from "./row-graph.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;

const SAMPLE = [
  { seed: 1, mode: "adopt" },
  { seed: 2, mode: "adopt" },
  { seed: 3, mode: "adopt" },
  { seed: 4, mode: "join" },
  { seed: 5, mode: "join" },
  { seed: 6, mode: "join" },
] as const;

describe("the first sync of random rows of all resources", () => {
  const results: FirstSyncResult[] = [];

  beforeAll(async () => {
    for (const { seed, mode } of SAMPLE) results.push(await runFirstSync(seed, { mode }));
  });

  it("loses nothing and leaves both sides equal", () => {
    expect(results.map(({ violations }, at) => ({ ...SAMPLE[at], violations }))).toEqual(
      SAMPLE.map((each) => ({ ...each, violations: [] })),
    );
  });

  it("has rows of every resource and every reference that are declared", async () => {
    const covered = new Set(results.flatMap((result) => [...result.covered]));
    expect(missingFrom(covered, await productCatalogue())).toEqual([]);
  });

  it("breaks the link, restarts both sides and goes on writing", () => {
    const sum = (of: (figures: FirstSyncResult["figures"]) => number): number =>
      results.reduce((all, { figures }) => all + of(figures), 0);
    expect([sum(({ cuts }) => cuts) > 6, sum(({ restarts }) => restarts) > 6, sum(({ late }) => late) > 12]).toEqual([
      ...[true, true, true],
    ]);
  });

  it("asks for rows of a declaration that is added", async () => {
    const { all } = await productCatalogue();
    const added = defineResource({
      ...{ name: "lifts", doc: "A lift.", paths: [{ at: "lifts" }], idParam: "liftId" },
      ...{ scope: "organisation", replicate: "B" },
      fields: {
        name: text("Its name."),
        siteId: ref("Where it is.", "sites"),
        besideIds: many("The lifts beside it.", "lifts"),
      },
    });
    const covered = new Set(results.flatMap((result) => [...result.covered]));
    expect(missingFrom(covered, createCatalogue([...all, added]))).toEqual([
      ...["lifts", "lifts.siteId", "lifts.besideIds"],
    ]);
  });

  it("plants bugs whose texts occur exactly once in the sources", () => {
    for (const { name, file, changes, also = [] } of FIRST_SYNC_BUGS) {
      for (const target of [{ file, changes }, ...also]) {
        const source = readFileSync(join(ROOT, target.file), "utf8");
        for (const [found] of target.changes)
          expect({ name, times: source.split(found).length - 1 }).toEqual({ name, times: 1 });
      }
    }
  });

  it.each(["early-rows-are-refused", "adopting-removes-refused-rows"])("finds that %s", async (name) => {
    const bug = FIRST_SYNC_BUGS.find((each) => each.name === name) as PlantedBug;
    const planted = await loadModuleWithBug<{ runFirstSync: typeof runFirstSync }>(
      bug,
      ROOT,
      "test/sim/first-sync/first-sync-run.ts",
    );
    const { violations } = await planted.runFirstSync(1, { mode: "adopt" });
    const lost = name === "adopting-removes-refused-rows" ? "lost at the appliance" : "only at the appliance";
    expect(violations).toContainEqual(expect.stringContaining(lost));
  });
});
