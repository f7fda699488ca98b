import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

describe("the help link of a page", () => {
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

  it("is beside the title, leads to the article, and speaks the language of the account", async () => {
    const { page, open, errors } = await openConsole(browser, daemon.url);
    for (const [path, article] of [
      ["/", "notifications#where-to-see-what-happened"],
      ["/ring-lists", "bells#ring-lists"],
      ["/send", "notifications#ways-to-send"],
      ["/places", "places-and-areas#places"],
    ] as const) {
      await open(path);
      const link = page.getByRole("link", { name: "Help on this page" });
      await link.waitFor();
      expect([path, await link.getAttribute("href")]).toEqual([path, `/help/${article}`]);
      const [title, help] = await Promise.all([
        page.getByRole("heading", { level: 1 }).boundingBox(),
        link.boundingBox(),
      ]);
      expect(help && title && help.x >= title.x + title.width && help.y < title.y + title.height).toBe(true);
      const [name = "", anchor = ""] = article.split("#");
      const response = await fetch(`${daemon.url}/help/${name}`);
      expect(await response.text()).toContain(`id="${anchor}"`);
    }
    await page.getByRole("button", { name: "Your account" }).click();
    await page.getByRole("radio", { name: "Deutsch" }).click({ force: true });
    await page.getByRole("radio", { name: "Deutsch", checked: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Hilfe zu dieser Seite (auf Englisch)" }).waitFor();
    expect(errors).toEqual([]);
  });
});
