import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { checkPages } from "../support/page-sweep.ts";

const { describe, it } = externalProgram("chromium");

describe("the first bells", () => {
  let daemon: TestDaemon;
  let browser: Browser;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  const list = async <T>(path: string) => (await daemon.call<{ data: T[] }>("GET", path)).body.data;

  it("have a form without findings of axe, the browser or the content security policy", async () => {
    expect(await checkPages(browser, daemon.url, [{ path: "/bell-schedules?open=ordinary-day" }])).toEqual([]);
  });

  it("are linked from each page without bells, and created in one step", async () => {
    const { page, open, errors } = await openConsole(browser, daemon.url);
    await open("/bell-schedules");
    await page.getByRole("main").getByRole("link", { name: "Ring lists" }).last().click();
    await page.getByText("No ring lists yet.").waitFor();
    await page.getByRole("link", { name: "Start with an ordinary school day" }).click();
    const sheet = page.getByRole("dialog");
    await sheet.getByText("12 rings from Monday to Friday: 08:00, 08:45, 08:55").waitFor();
    await sheet.getByRole("textbox", { name: "Lessons per day" }).fill("5");
    await sheet.getByText("10 rings from Monday to Friday").waitFor();
    await sheet.getByRole("textbox", { name: "Schedule name" }).fill("High school");
    await sheet.getByRole("button", { name: "Save" }).click();
    await page.getByText("High school is active.").waitFor();
    const [schedule] = await list<{ bellScheduleEntries: { entryNum: number; ringListName: string }[] }>(
      "/bell-schedules",
    );
    expect(schedule?.bellScheduleEntries).toMatchObject(
      [0, 1, 2, 3, 4].map((entryNum) => ({ entryNum, ringListName: "Ordinary day" })),
    );
    const [ringList] = await list<{ entries: { time: string }[] }>("/ring-lists");
    expect(ringList?.entries.map(({ time }) => time).slice(0, 3)).toEqual(["08:00:00", "08:45:00", "08:55:00"]);
    const [template] = await list<{ deviceGroups: { name: string }[] }>("/message-templates?q=Lesson");
    expect(template).toMatchObject({ name: "Lesson bell", deviceGroups: [{ name: "All devices" }] });
    expect(errors).toEqual([]);
  });
});
