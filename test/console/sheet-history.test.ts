import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

describe("a sheet over a list", () => {
  let daemon: TestDaemon;
  let browser: Browser;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    browser = await startBrowser();
    await daemon.call("POST", "/distribution-lists", { name: "Teachers" });
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  async function lists() {
    const window = await openConsole(browser, daemon.url);
    await window.open("/people");
    await window.page.getByRole("link", { name: "Lists", exact: true }).first().click();
    await window.page.getByRole("button", { name: "Teachers" }).waitFor();
    const sheet = window.page.getByRole("dialog", { name: "Teachers" });
    const at = () => new URL(window.page.url()).pathname;
    return { ...window, sheet, at };
  }

  it("is closed by Back, which stays on the page, and opened again by Forward", async () => {
    const { page, sheet, at } = await lists();
    await page.getByRole("button", { name: "Teachers" }).click();
    await sheet.waitFor();
    await page.goBack();
    await sheet.waitFor({ state: "detached" });
    expect(at()).toBe("/lists");
    await page.goForward();
    await sheet.waitFor();
    await sheet.getByRole("button", { name: "Close" }).click();
    await sheet.waitFor({ state: "detached" });
    // Closing took the sheet's entry back: the next Back leaves the page.
    await page.goBack();
    await expect.poll(at).toBe("/people");
  });

  it("asks before Back discards what was typed, and closes without a question once it is saved", async () => {
    const { page, sheet, at } = await lists();
    await page.getByRole("button", { name: "Teachers" }).click();
    const name = sheet.getByRole("textbox", { name: "Name" }).first();
    await name.fill("Staff");
    await page.evaluate("history.back()");
    await page.getByRole("button", { name: "Stay here" }).click();
    expect(await name.inputValue()).toBe("Staff");
    await page.evaluate("history.back()");
    await page.getByRole("button", { name: "Discard" }).last().click();
    await sheet.waitFor({ state: "detached" });
    expect(at()).toBe("/lists");
    await page.getByRole("button", { name: "New list" }).click();
    const added = page.getByRole("dialog").getByRole("textbox", { name: "Name" }).first();
    await added.fill("Drivers");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Drivers" }).waitFor();
    expect(await page.getByText("Discard unsaved changes?").count()).toBe(0);
  });

  it("is closed by its button without leaving the page when its address was opened", async () => {
    const window = await openConsole(browser, daemon.url);
    const { body } = await daemon.call<{ data: { id: string }[] }>("GET", "/distribution-lists");
    await window.open(`/lists?open=${body.data[0]?.id}`);
    const sheet = window.page.getByRole("dialog").first();
    await sheet.getByRole("button", { name: "Close" }).click();
    await sheet.waitFor({ state: "detached" });
    expect(new URL(window.page.url()).pathname + new URL(window.page.url()).search).toBe("/lists");
  });
});
