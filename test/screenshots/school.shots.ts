import { copyFileSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApiClient, listAll } from "../../src/api-client/api-client.ts";
import { createDemoSchool } from "../../src/tools/demo/demo-school.ts";
import { type BroadcastHarness, type DeliveryLine, startBroadcastHarness } from "../support/broadcast-harness.ts";
import { startBrowser } from "../support/browser.ts";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";
import { createSamplePlaces } from "../support/place-samples.ts";
import { createSampleScenarios, createSampleTables } from "../support/scenario-samples.ts";
import { eventually } from "../support/timeouts.ts";
import { BELL_PAGES, createBellScreenshotData } from "./bell-pages.ts";
import { INCIDENT_PAGES } from "./incident-pages.ts";
import { LINK_PAGES } from "./link-pages.ts";
import { MONITORING_PAGES } from "./monitoring-pages.ts";
import { createOfficeScreenshotData } from "./office-fixture.ts";
import { EMPTY_PAGES, openBrowserWindows, PAGES, type PhotographedAppliance, takeScreenshots } from "./screenshots.ts";

/** Where the pictures go; the README's own go to their room as well. */
const FOLDER = join(REPOSITORY_ROOT, "dist/pictures");
const PHONES = 50;
/** What the README shows, by the name that the picture has there. */
const OF_README: Readonly<Record<string, string>> = {
  now: "now-light",
  send: "send-template-light",
  broadcast: "broadcast-going-light",
  bells: "bells-week-light",
  "floor-plan": "place-plan-light",
  launch: "launch-light",
  incident: "incident-light",
};
/** The largest that a picture in the repository may be. */
const MAX_BYTES = 200_000;
/** Parts of names, such as `devices dark`, or `readme` for what that shows; all pictures are taken when there are none. */
const NAMES = (process.env.CARILLON_PICTURES ?? "").split(" ").filter(Boolean);
const wants = (name: string): boolean =>
  NAMES.join() === "readme" ? Object.values(OF_README).includes(name) : NAMES.every((part) => name.includes(part));

/**
 * `npm run screenshots`: an appliance, a campus and the demo school; every page of the console in light, dark and on a
 * phone, with the states that pages have while they wait, are empty, at fault or cut off. CARILLON_PICTURES names some.
 */
describe("pictures", () => {
  let scene: BroadcastHarness;
  let browser: Browser;

  beforeAll(async () => {
    mkdirSync(FOLDER, { recursive: true });
    scene = await startBroadcastHarness({ phones: PHONES, zones: 10, offline: 3 }, 200);
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await scene?.end();
  });

  it("are taken of a school at work", async () => {
    const say = (words: string) => void process.stderr.write(`${words}\n`);
    const windows = await openBrowserWindows(browser, scene.url());
    const options = { windows, folder: FOLDER, wants, say };
    const bare: PhotographedAppliance = { url: scene.url(), since: Date.now(), ids: {} };
    const empty = await takeScreenshots({ ...options, appliance: bare, pages: EMPTY_PAGES });
    const { templateId } = await createDemoSchool(scene.api());
    const drill = await scene.send("Fire drill", 1, { drill: "true", body: "Leave by the nearest stairs." });
    await scene.waitUntilFinished(drill);
    const first = await scene.api().post<{ id: string }>("/notifications", { messageTemplateId: templateId });
    await scene.waitUntilFinished(first.id);
    const ids = {
      ...(await createOfficeScreenshotData(scene.api(), templateId)),
      ...(await createSamplePlaces(scene.api())),
      ...(await createSampleScenarios(scene.api(), await groupOfAll(scene.api()))),
      ...(await createSampleTables(scene.api())),
      ...(await createBellScreenshotData(scene.api())),
    };
    const going = await scene.send("Bus 12 is late", 600, { body: "Line up at the north door at 15:20." });
    const isSettled = ({ type, level }: DeliveryLine) => type === "phones" && ["playing", "failed"].includes(level);
    await eventually(async () => (await scene.deliveries(going)).filter(isSettled).length === PHONES);
    const { createdAt } = await scene.api().get<{ createdAt: string }>(`/notifications/${going}`);
    const appliance: PhotographedAppliance = {
      url: scene.url(),
      since: Date.parse(createdAt),
      ids: { ...ids, finished: first.id, going, template: templateId },
    };
    const taken = await takeScreenshots({
      ...options,
      appliance,
      pages: [...PAGES, ...INCIDENT_PAGES, ...BELL_PAGES, ...MONITORING_PAGES, ...LINK_PAGES],
    });
    for (const [shown, name] of Object.entries(OF_README)) {
      if (!taken.includes(`${name}.png`)) continue;
      const picture = join(FOLDER, `${name}.png`);
      expect([name, statSync(picture).size < MAX_BYTES]).toEqual([name, true]);
      copyFileSync(picture, join(REPOSITORY_ROOT, `src/console/pictures/${shown}.png`));
    }
    expect(empty.length + taken.length).toBeGreaterThan(0);
  });
});

async function groupOfAll(api: ApiClient): Promise<string> {
  const [group] = await listAll<{ id: string }>(api, "/device-groups?name=Everywhere");
  return group?.id ?? "";
}
