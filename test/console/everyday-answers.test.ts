import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { createApiClient } from "../../src/api-client/api-client.ts";
import { createSampleBells } from "../support/bell-samples.ts";
import { newConsolePage, startBrowser } from "../support/browser.ts";
import { logIn, openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

const DAY_MS = 86_400_000;
const dayAt = (ms: number) => new Date(ms).toISOString().slice(0, 10);
/** A Monday to come; 1970 began on a Thursday. */
const MONDAY = dayAt(Math.ceil((Date.now() / DAY_MS - 4) / 7) * 7 * DAY_MS + 11 * DAY_MS);
const DELIVERIES = /\/notifications\/[^/]+\/devices/;
const RINGS = /\/bell-schedules\/[^/]+\/rings/;

describe("everyday questions", () => {
  let daemon: TestDaemon;
  let browser: Browser;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    const api = createApiClient(daemon.url, daemon.first.token);
    const all = { name: "Everywhere", filterType: "ACCEPT", filters: [] };
    const { id: deviceGroupId } = await api.post<{ id: string }>("/device-groups", all);
    const days = { startDate: dayAt(Date.now() - 30 * DAY_MS), endDate: dayAt(Date.now() + 300 * DAY_MS) };
    await createSampleBells(api, { deviceGroupId, ...days });
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  it("shows the next bells by the appliance's clock when the browser's is years ahead", async () => {
    const window = await newConsolePage(browser, daemon.url);
    await window.page.addInitScript(`{
      const RealDate = Date;
      const AHEAD = 900 * 86_400_000;
      globalThis.Date = class extends RealDate {
        constructor(...given) { given.length === 0 ? super(RealDate.now() + AHEAD) : super(...given); }
        static now() { return RealDate.now() + AHEAD; }
      };
    }`);
    await logIn(window);
    const card = window.page.locator("section.card", { has: window.page.getByRole("heading", { name: "Next bells" }) });
    await expect.poll(() => card.getByRole("listitem").count()).toBeGreaterThan(0);
  });

  it("shows of a past ring who missed it and why, with its message, and offers no move", async () => {
    const window = await openConsole(browser, daemon.url);
    const { page } = window;
    await page.route(RINGS, async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { data: object[] };
      const over = { at: new Date(0).toISOString(), state: "rung", verdict: "reachedPartly" };
      const data = body.data.map((ring) => ({ ...ring, ...over }));
      await route.fulfill({ response, json: { ...body, data } });
    });
    await page.route(DELIVERIES, (route) => {
      const row = { id: "1", name: "Room 205", deviceIdentifier: "SEP1", level: "failed", textOnly: false };
      const data = [{ ...row, reason: "It does not answer.", reasonSentence: null }];
      return route.fulfill({ json: { total: 1, next: null, data } });
    });
    await window.open(`/bells?since=${MONDAY}`);
    await page
      .locator(".week-day")
      .nth(0)
      .getByRole("button", { name: /^08:00/ })
      .first()
      .click();
    const sheet = page.getByRole("dialog");
    await sheet.getByText("1 device missed it:").first().waitFor();
    await sheet.getByText("Room 205").first().waitFor();
    await sheet.getByText("It does not answer.").first().waitFor();
    expect(await sheet.getByRole("link", { name: "Its message" }).count()).toBeGreaterThan(0);
    expect(await sheet.getByRole("button", { name: "Move ring" }).count()).toBe(0);
    expect(await window.axe()).toEqual([]);
    await page.goBack();
    await sheet.waitFor({ state: "detached" });
    expect(new URL(page.url()).pathname).toBe("/bells");
  });

  it("finds pages, rows, help and actions by Ctrl-K; an action opens the page that prepares it", async () => {
    const window = await openConsole(browser, daemon.url);
    const { page } = window;
    await window.open("/");
    const search = async (text: string) => {
      await page.keyboard.press("Control+k");
      await page.waitForSelector("[role=combobox]:focus");
      await page.keyboard.type(text);
    };
    const option = (name: string) => page.getByRole("option", { name }).first();
    await search("ring lists");
    await option("Ring lists Page").waitFor();
    await option("Ring lists Help").waitFor();
    expect(await window.axe()).toEqual([]);
    await page.keyboard.press("Escape");
    await search("Primary");
    await option("Primary school").click();
    await page.waitForURL(/bell-schedules\?open=/);
    await page.keyboard.press("Escape");
    await search("delay 60");
    await option("Delay, cancel or shorten").click();
    await page.waitForURL(/bells\?.*open=change/);
    expect((await daemon.call<{ total: number }>("GET", "/bell-schedules-day-changes")).body.total).toBe(0);
  });
});
