import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

type Row = Record<string, unknown> & { id: string };

const { describe, it } = externalProgram("chromium");

describe("the console's page of numbers to dial", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  const stored = async () => (await daemon.call<{ data: Row[] }>("GET", "/dialcast-dialing-configurations")).body.data;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    browser = await startBrowser();
    await daemon.call("POST", "/message-templates", { name: "Announcement", subject: "Announcement" });
    await daemon.call("POST", "/device-groups", { name: "Hall", filterType: "REJECT" });
  });
  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  const choose = async (page: Page, field: string, option: string) => {
    await page.getByRole("combobox", { name: field }).click();
    await page.getByRole("option", { name: option }).click();
  };

  it("says what each number does; numbers are made, changed and removed there", async () => {
    const { page, open, axe, errors } = await openConsole(browser, daemon.url);
    await open("/dialing");
    await page.getByText("No numbers yet.").waitFor();
    await page.getByRole("button", { name: "New number" }).first().click();
    await page.getByRole("textbox", { name: "Name" }).fill("Page the hall");
    await page.getByRole("textbox", { name: "Number" }).fill("801");
    await choose(page, "Template", "Announcement");
    await choose(page, "Device groups", "Hall");
    await page.getByRole("textbox", { name: "PIN" }).fill("4711");
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: "Save" }).click();
    const row = page.getByRole("row", { name: "Page the hall" });
    await row.getByText("Speak live: the voice is heard at once").waitFor();
    for (const text of ["801", "Hall", "With PIN"]) await row.getByText(text, { exact: true }).waitFor();
    expect(await stored()).toMatchObject([
      { dialingPatternRegex: "801", callAction: "LIVE_PAGE", type: "NOTIFICATION", authenticationEnabled: true },
    ]);
    await row.getByRole("button", { name: "Page the hall" }).click();
    await choose(page, "What happens", "Give the all-clear");
    await page.getByRole("button", { name: "Save" }).click();
    await row.getByText("Give the all-clear").waitFor();
    // The PIN is never shown, and stays.
    expect(await stored()).toMatchObject([{ callAction: "ALL_CLEAR", authenticationEnabled: true }]);
    await row.getByRole("button", { name: "Page the hall" }).click();
    // By the keyboard: what was saved is still said above the button.
    await page.getByRole("button", { name: "Remove" }).press("Enter");
    await page.getByText("Page the hall will be removed in ten seconds.").waitFor();
    expect(errors).toEqual([]);
  });
});
