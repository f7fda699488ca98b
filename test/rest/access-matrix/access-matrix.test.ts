import { afterAll, beforeAll, expect, it } from "vitest";
import { makeTempDir } from "../../support/temp-dir.ts";
import { openApi } from "../api-fixture.ts";
import { casesOf, run } from "./matrix.ts";
import { buildWorld, type World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await buildWorld(await openApi(makeTempDir()));
}, 60_000);
afterAll(() => world.api.close());

it("tells nobody what lies out of sight, by no route and no selector", async () => {
  const cases = casesOf(world);
  console.log(`${cases.length} cases`);
  const outcome = await run(world, cases);
  console.log(`${outcome.cases} cases, ${outcome.violations.length} violations`);
  expect(outcome.violations).toEqual([]);
  expect(outcome.cases).toBeGreaterThan(5_000);
}, 120_000);
