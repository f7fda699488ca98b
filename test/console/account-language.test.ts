import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

describe("the language of an account", () => {
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

  it("follows the user to another browser, and the log-in page follows the browser", async () => {
    const first = await openConsole(browser, daemon.url);
    await first.open("/");
    await first.page.getByRole("button", { name: "Your account" }).click();
    // The choice shows once the texts of the language are loaded.
    await first.page.getByRole("radio", { name: "Deutsch" }).click({ force: true });
    await first.page.getByRole("navigation", { name: "Hauptnavigation" }).waitFor();
    await first.page.getByRole("radio", { name: "Deutsch", checked: true }).waitFor();
    const saved = async () => {
      const { userId } = await daemon.call<{ userId: string }>("GET", "/session").then(({ body }) => body);
      return (await daemon.call<{ preferredLanguage: string }>("GET", `/users/${userId}/profile`)).body
        .preferredLanguage;
    };
    await expect.poll(saved).toBe("de-DE");
    const second = await openConsole(browser, daemon.url);
    await second.open("/");
    await second.page.getByRole("navigation", { name: "Hauptnavigation" }).waitFor();
    await second.page.locator("header button").last().click();
    await second.page.getByRole("button", { name: "Abmelden" }).click();
    await second.page.getByRole("button", { name: "Log in" }).waitFor();
    expect(await second.page.evaluate<string>("document.documentElement.lang")).toBe("en");
    expect([...first.errors, ...second.errors].filter((error) => !error.includes("401"))).toEqual([]);
  });
});
