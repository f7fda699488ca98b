import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { newConsolePage, startBrowser } from "../support/browser.ts";
import { type RunningDaemon, serveAppliance } from "../support/carillon-process.ts";
import { externalProgram } from "../support/external-programs.ts";
import { makeTempDir } from "../support/temp-dir.ts";

const { describe, it } = externalProgram("chromium");

describe("the first run", () => {
  let data: string;
  let daemon: RunningDaemon;
  let browser: Browser;

  beforeAll(async () => {
    data = join(makeTempDir(), "data");
    daemon = await serveAppliance(data);
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.end("SIGKILL");
  });

  it("leads from an empty folder to a test broadcast", async () => {
    const { page, open, axe, errors } = await newConsolePage(browser, daemon.url);
    await open("/");
    expect(await axe()).toEqual([]);
    await page.getByLabel("Set-up code").fill("00000-00000");
    await page.getByLabel("Name").fill("Head");
    await page.getByLabel("E-mail").fill("head@example.org");
    await page.getByRole("textbox", { name: "Password" }).fill("correct horse battery");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.waitForSelector("text=set-up code is wrong");
    await page.getByLabel("Set-up code").fill(readFileSync(join(data, "setup-code"), "utf8").trim());
    await page.getByRole("button", { name: "Continue" }).click();
    await page.waitForURL(/welcome/);
    await page.getByLabel("Name").fill("Hall");
    await page.getByLabel("Multicast address").fill("239.255.77.8");
    await page.getByRole("button", { name: "Add device" }).click();
    await page.getByRole("button", { name: "Send a test" }).click();
    await page.waitForURL(/broadcasts\/./);
    await page.waitForSelector("text=Speaker test");
    await page.waitForSelector("text=Finished");
    await page.waitForSelector("text=1 of 1 device");
    expect(errors.filter((fault) => !fault.includes("401"))).toEqual([]);
  });
});
