import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDemoSchool } from "../../src/tools/demo/demo-school.ts";
import { createSampleBells } from "../support/bell-samples.ts";
import { type BroadcastHarness, startBroadcastHarness } from "../support/broadcast-harness.ts";
import { startBrowser } from "../support/browser.ts";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";
import { openConsole } from "../support/console-pages.ts";
import { createSampleScenarios, LOCKDOWN_PIN } from "../support/scenario-samples.ts";

const FOLDER = join(REPOSITORY_ROOT, "dist/pictures/school-day");
const TELEPHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const HELD_MS = 1_900;
const DAY_MS = 86_400_000;
const dayAt = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** A day of a school on a telephone, step by step: what cannot be found or pressed ends it. Left out where others are named. */
describe.skipIf(process.env.CARILLON_PICTURES)("a school day", () => {
  let scene: BroadcastHarness;
  let browser: Browser;

  beforeAll(async () => {
    mkdirSync(FOLDER, { recursive: true });
    scene = await startBroadcastHarness({ phones: 8, zones: 2, offline: 1 }, 60);
    await createDemoSchool(scene.api());
    const [group] = (await scene.api().get<{ data: { id: string }[] }>("/device-groups?name=Everywhere")).data;
    const deviceGroupId = group?.id ?? "";
    await createSampleScenarios(scene.api(), deviceGroupId);
    const days = { startDate: dayAt(Date.now() - 30 * DAY_MS), endDate: dayAt(Date.now() + 200 * DAY_MS) };
    await createSampleBells(scene.api(), { deviceGroupId, ...days });
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await scene?.end();
  });

  it("is done on a telephone", async () => {
    const { page, open, idle, errors } = await openConsole(browser, scene.url(), TELEPHONE);
    let taken = 0;
    const shot = async (name: string): Promise<void> => {
      await idle();
      await page.screenshot({ path: join(FOLDER, `${String(++taken).padStart(2, "0")}-${name}.png`) });
      // Nothing may be wider than the screen.
      expect(await page.evaluate<number>("document.scrollingElement.scrollWidth"), name).toBeLessThanOrEqual(390);
    };
    await open("/bells");
    await page.getByRole("button", { name: "Change a day" }).click();
    await page.getByRole("button", { name: "2 hours" }).click();
    await shot("snow-delay");
    await open("/send");
    await page
      .getByRole("textbox", { name: /^Subject/ })
      .first()
      .fill("Bus 12 is late");
    await shot("page");
    await open("/welcome");
    await shot("new-phone");
    await open("/devices?state=silent");
    await shot("failed-speaker");
    await drill(page);
    await shot("drill");
    await lockdown(page);
    await shot("lockdown");
    await page.getByRole("link", { name: "Open incident and all-clear" }).click();
    await page.getByRole("button", { name: "Send all-clear" }).click({ delay: HELD_MS });
    await page.getByText("All-clear sent.").waitFor();
    await shot("all-clear");
    await open("/");
    await shot("afterwards");
    expect(errors).toEqual([]);
  });
});

async function openEmergency(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Emergency/ }).click();
  await page.waitForSelector(".emergency-tile");
}

async function drill(page: Page): Promise<void> {
  await openEmergency(page);
  await page.getByRole("dialog").getByText("DRILL", { exact: true }).click();
  await page.locator(".emergency-tile.drill").filter({ hasText: "Fire" }).click({ delay: HELD_MS });
  await page.getByText("Send all-clear").waitFor();
}

async function lockdown(page: Page): Promise<void> {
  await openEmergency(page);
  await page.locator(".emergency-tile").filter({ hasText: "Lockdown" }).click();
  await page.getByText("Gym", { exact: true }).click();
  await page.getByRole("textbox", { name: "PIN" }).fill(LOCKDOWN_PIN);
  await page.locator("button.hold").filter({ hasText: "Start LIVE" }).click({ delay: HELD_MS });
  await page.getByText("Lockdown started").waitFor();
}
