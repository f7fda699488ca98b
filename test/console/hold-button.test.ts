import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { createApiClient } from "../../src/api-client/api-client.ts";
import { type ConsolePage, startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { createSampleScenarios } from "../support/scenario-samples.ts";

const { describe, it } = externalProgram("chromium");

/** Longer than anything is held, in ms of the browser's own clock. */
const LONG_MS = 4_000;

describe("a held button", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  let console: ConsolePage;
  let tile: Locator;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    browser = await startBrowser();
    const api = createApiClient(daemon.url, daemon.first.token);
    const all = { name: "Everywhere", filterType: "ACCEPT", filters: [] };
    const ids = await createSampleScenarios(api, (await api.post<{ id: string }>("/device-groups", all)).id);
    await api.put(`/scenarios/${ids.fire}`, { confirmationType: "none", customConfirm: null });
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  beforeEach(async () => {
    console = await openConsole(browser, daemon.url);
    const { page, open } = console;
    await page.clock.install();
    await open("/people");
    await page.getByRole("button", { name: "Emergency: choose a message" }).click();
    tile = page.getByRole("button", { name: /^Fire/ });
    await tile.hover();
    await page.clock.pauseAt(Date.now() + LONG_MS);
    await page.mouse.down();
    await expect.poll(() => tile.getAttribute("data-state")).toBe("holding");
  });

  const started = async () =>
    (await daemon.call<{ data: { drill: boolean }[] }>("GET", "/scenario-notifications")).body.data.filter(
      ({ drill }) => !drill,
    );

  it("lets go of a finger that slides away", async () => {
    const { page } = console;
    const box = await tile.boundingBox();
    await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) + 100, (box?.y ?? 0) + 100);
    await expect.poll(() => tile.getAttribute("data-state")).toBe("rest");
    await page.clock.fastForward(LONG_MS);
    await page.mouse.up();
    expect(await started()).toEqual([]);
  });

  it("stays held when the page moves under the finger", async () => {
    const { page } = console;
    const before = await tile.boundingBox();
    await page.evaluate("document.querySelector('.emergency-tiles').style.marginTop = '20rem'");
    await expect.poll(async () => (await tile.boundingBox())?.y).toBeGreaterThan((before?.y ?? 0) + 300);
    // As a hand does that never quite rests.
    const [x, y] = [(before?.x ?? 0) + (before?.width ?? 0) / 2, (before?.y ?? 0) + (before?.height ?? 0) / 2];
    await page.mouse.move(x + 3, y + 3);
    expect(await tile.getAttribute("data-state")).toBe("holding");
    await page.clock.fastForward(LONG_MS);
    await page.waitForURL(/broadcasts\/./);
    await page.mouse.up();
    expect(await started()).toHaveLength(1);
  });
});
