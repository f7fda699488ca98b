import { afterAll, beforeAll } from "vitest";
import areasOfInterest from "../../src/resources/areas/areas-of-interest.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import notifications from "../../src/resources/notifications/notifications.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { SAMPLE_OVERRIDES } from "./sample-overrides.ts";
import { createSampleRows, existingRows, type SampleRows } from "./sample-rows.ts";

/** Opens the API on an empty appliance with what samples of all resources refer to. */
async function openSampleApi(): Promise<ApiFixture> {
  const api = await openApi(makeTempDir());
  const served = {
    name: "Chat rooms",
    type: "collaboration",
    deviceType: SAMPLE_OVERRIDES["collaboration-groups.type"],
  };
  await api.store.create(extensions, served, api.system);
  return api;
}

/** Makes rows of every resource there; `given` names rows that stand for their resource instead of new ones. */
function createSceneRows(
  api: () => ApiFixture,
  given: Readonly<Record<string, () => Promise<string>>> = {},
): SampleRows {
  return createSampleRows(api, SAMPLE_OVERRIDES, {
    domains: async () => api().rootId,
    ...existingRows(api),
    // There may be twenty; the first is the one that others refer to.
    "areas-of-interest": async () => {
      const { store, system } = api();
      const [, oldest, ...others] = store.find(areasOfInterest, {});
      if (oldest && others.length > 14) await store.remove(areasOfInterest, oldest.id, system);
      const geometryValue = SAMPLE_OVERRIDES["areas-of-interest.geometryValue"];
      const input = { name: "Sample", geometryType: "circle", geometryValue };
      return (await store.create(areasOfInterest, input, system)).id;
    },
    notifications: async () =>
      (await api().store.create(notifications, { subject: "Sample" }, api().system, { stage: "draft" })).id,
    ...given,
  });
}

/** For the tests of a file: the API of `openSampleApi`, there from the first test to the last, and rows of its scene. */
export function openSampleFixture(given?: Readonly<Record<string, () => Promise<string>>>): {
  api: () => ApiFixture;
  rows: SampleRows;
} {
  let opened: ApiFixture;
  beforeAll(async () => {
    opened = await openSampleApi();
  });
  afterAll(() => opened.close());
  const api = (): ApiFixture => opened;
  return { api, rows: createSceneRows(api, given) };
}
