import { afterAll, beforeAll, describe } from "vitest";
import { loadDeclarations, OWN_DECLARATIONS } from "../../src/app/load-declarations.ts";
import areasOfInterest from "../../src/resources/areas/areas-of-interest.ts";
import notifications from "../../src/resources/broadcasts/notifications.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { describeResource } from "./resource-suite.ts";
import { createSampleRows, givenRows } from "./sample-rows.ts";
import { SAMPLE_TABLE } from "./sample-table.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
  const served = { name: "Chat rooms", type: "collaboration", deviceType: SAMPLE_TABLE["collaboration-groups.type"] };
  await api.store.create(extensions, served, api.system);
});
afterAll(() => api.close());

const rows = createSampleRows(() => api, SAMPLE_TABLE, {
  domains: async () => api.rootId,
  ...givenRows(() => api),
  // There may be twenty; the first is the one that others refer to.
  "areas-of-interest": async () => {
    const [, oldest, ...others] = api.store.find(areasOfInterest, {});
    if (oldest && others.length > 14) await api.store.remove(areasOfInterest, oldest.id, api.system);
    const geometryValue = SAMPLE_TABLE["areas-of-interest.geometryValue"];
    const input = { name: "Sample", geometryType: "circle", geometryValue };
    return (await api.store.create(areasOfInterest, input, api.system)).id;
  },
  notifications: async () =>
    (await api.store.create(notifications, { subject: "Sample" }, api.system, { stage: "draft" })).id,
});

/** Rooms work on them as soon as they are made: their tests are those of sending, starting and loading. */
const WORKED_ON = new Set(["notifications", "scenario-notifications", "load-runs", "alarm-events"]);

/** Orders to an appliance always begin as pending. */
const DECIDED = new Set(["endpoint-activities.state"]);

/** A change of them answers what they belong to. */
const ANSWERS_PARENT = new Set(["alarm-actions"]);

const declarations = await loadDeclarations([OWN_DECLARATIONS]);

describe("every resource", () => {
  for (const resource of declarations.filter(({ name }) => !WORKED_ON.has(name))) {
    describeResource(resource, { api: () => api, rows, decided: DECIDED, answersParent: ANSWERS_PARENT });
  }
});
