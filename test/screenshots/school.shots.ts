import { copyFileSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApiClient, listAll } from "../../src/cli/api-client.ts";
import { makeSchool } from "../../src/cli/demo/school.ts";
import { type BroadcastScene, type LedgerLine, openScene } from "../support/broadcast-scene.ts";
import { startBrowser } from "../support/browser.ts";
import { eventually } from "../support/patience.ts";
import { makePlaces } from "../support/places.ts";
import { ROOT } from "../support/product.ts";
import { makeSituations, makeTables } from "../support/situations.ts";
import { BELL_PAGES, makeBellPictures } from "./bell-pages.ts";
import { LINK_PAGES } from "./link-pages.ts";
import { makeOffice } from "./office.ts";
import { type Appliance, EMPTY, openWindows, PAGES, takePictures } from "./pictures.ts";
import { SITUATION_PAGES } from "./situation-pages.ts";
import { WATCH_PAGES } from "./watch-pages.ts";

/** Where the pictures go; the README's own go to their room as well. */
const FOLDER = join(ROOT, "dist/pictures");
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
const MOST_BYTES = 200_000;
/** Parts of names, such as `devices dark`, or `readme` for what that shows; all pictures are taken when there are none. */
const NAMES = (process.env.CARILLON_PICTURES ?? "").split(" ").filter(Boolean);
const wants = (name: string): boolean =>
  NAMES.join() === "readme" ? Object.values(OF_README).includes(name) : NAMES.every((part) => name.includes(part));

/**
 * `npm run screenshots`: an appliance, a campus and the demo school; every page of the console in light, dark and on a
 * phone, with the states that pages have while they wait, are empty, at fault or cut off. CARILLON_PICTURES names some.
 */
describe("pictures", () => {
  let scene: BroadcastScene;
  let browser: Browser;

  beforeAll(async () => {
    mkdirSync(FOLDER, { recursive: true });
    scene = await openScene({ phones: PHONES, zones: 10, offline: 3 }, 200);
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await scene?.end();
  });

  it("are taken of a school at work", async () => {
    const say = (words: string) => void process.stderr.write(`${words}\n`);
    const windows = await openWindows(browser, scene.url());
    const options = { windows, folder: FOLDER, wants, say };
    const bare: Appliance = { url: scene.url(), since: Date.now(), ids: {} };
    const empty = await takePictures({ ...options, appliance: bare, pages: EMPTY });
    const { templateId } = await makeSchool(scene.api());
    const drill = await scene.send("Fire drill", 1, { drill: "true", body: "Leave by the nearest stairs." });
    await scene.settled(drill);
    const first = await scene.api().post<{ id: string }>("/notifications", { messageTemplateId: templateId });
    await scene.settled(first.id);
    const ids = {
      ...(await makeOffice(scene.api(), templateId)),
      ...(await makePlaces(scene.api())),
      ...(await makeSituations(scene.api(), await groupOfAll(scene.api()))),
      ...(await makeTables(scene.api())),
      ...(await makeBellPictures(scene.api())),
    };
    const going = await scene.send("Bus 12 is late", 600, { body: "Line up at the north door at 15:20." });
    const isSettled = ({ type, level }: LedgerLine) => type === "phones" && ["playing", "failed"].includes(level);
    await eventually(async () => (await scene.ledger(going)).filter(isSettled).length === PHONES);
    const { createdAt } = await scene.api().get<{ createdAt: string }>(`/notifications/${going}`);
    const appliance: Appliance = {
      url: scene.url(),
      since: Date.parse(createdAt),
      ids: { ...ids, finished: first.id, going, template: templateId },
    };
    const taken = await takePictures({
      ...options,
      appliance,
      pages: [...PAGES, ...SITUATION_PAGES, ...BELL_PAGES, ...WATCH_PAGES, ...LINK_PAGES],
    });
    for (const [shown, name] of Object.entries(OF_README)) {
      if (!taken.includes(`${name}.png`)) continue;
      const picture = join(FOLDER, `${name}.png`);
      expect([name, statSync(picture).size < MOST_BYTES]).toEqual([name, true]);
      copyFileSync(picture, join(ROOT, `src/console/pictures/${shown}.png`));
    }
    expect(empty.length + taken.length).toBeGreaterThan(0);
  });
});

async function groupOfAll(api: ApiClient): Promise<string> {
  const [group] = await listAll<{ id: string }>(api, "/device-groups?name=Everywhere");
  return group?.id ?? "";
}
