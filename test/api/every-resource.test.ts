import { describe } from "vitest";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";
import { describeResourceSuite } from "./resource-suite.ts";
import { openSampleFixture } from "./sample-fixture.ts";

const { api, rows } = openSampleFixture();

/** Rooms work on them as soon as they are made: their tests are those of sending, starting and loading. */
const WORKED_ON = new Set(["notifications", "scenario-notifications", "load-runs", "alarm-events"]);

/** Orders to an appliance always begin as pending. */
const DECIDED = new Set(["endpoint-activities.state"]);

/** A change of them answers what they belong to. */
const ANSWERS_PARENT = new Set(["alarm-actions"]);

const declarations = await loadDeclarations([BUILT_IN_DECLARATIONS]);

describe("every resource", () => {
  for (const resource of declarations.filter(({ name }) => !WORKED_ON.has(name))) {
    describeResourceSuite(resource, { api, rows, decided: DECIDED, answersParent: ANSWERS_PARENT });
  }
});
