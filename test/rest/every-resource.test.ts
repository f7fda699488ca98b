import { describe } from "vitest";
import { loadDeclarations, OWN_DECLARATIONS } from "../../src/app/load-declarations.ts";
import { describeResource } from "./resource-suite.ts";
import { openSampleScene } from "./sample-scene.ts";

const { api, rows } = openSampleScene();

/** Rooms work on them as soon as they are made: their tests are those of sending, starting and loading. */
const WORKED_ON = new Set(["notifications", "scenario-notifications", "load-runs", "alarm-events"]);

/** Orders to an appliance always begin as pending. */
const DECIDED = new Set(["endpoint-activities.state"]);

/** A change of them answers what they belong to. */
const ANSWERS_PARENT = new Set(["alarm-actions"]);

const declarations = await loadDeclarations([OWN_DECLARATIONS]);

describe("every resource", () => {
  for (const resource of declarations.filter(({ name }) => !WORKED_ON.has(name))) {
    describeResource(resource, { api, rows, decided: DECIDED, answersParent: ANSWERS_PARENT });
  }
});
