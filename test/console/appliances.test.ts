import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { packUpgrade } from "../../src/ops/upgrade/upgrade-bundle.ts";
import { sendControlCommand } from "../../src/wiring/control-socket.ts";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { makeTempDir } from "../support/temp-dir.ts";

const { describe, it } = externalProgram("chromium");
const maker = generateKeyPairSync("ed25519");
const trusted = maker.publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("base64");

describe("the cloud's appliances", () => {
  let hub: TestDaemon;
  let browser: Browser;

  beforeAll(async () => {
    hub = await startTestDaemon({ isHub: true, settings: `trust: {upgrades: ["${trusted}"]}` });
    const post = async (path: string, json: object) => (await hub.call<{ id: string }>("POST", path, json)).body.id;
    const north = await post("/sites", { name: "North campus", latitude: 52.53, longitude: 13.38 });
    const south = await post("/sites", { name: "South campus", latitude: 52.43, longitude: 13.35 });
    const appliances = `/extensions/${hub.first.extensionId}/endpoints`;
    for (const [name, siteId] of [
      ["North hall", north],
      ["North gym", north],
      ["South hall", south],
      ["Annex", null],
    ])
      await post(appliances, { name, siteId });
    const [folder, file] = [makeTempDir(), join(makeTempDir(), "carillon.tgz")];
    writeFileSync(join(folder, "package.json"), JSON.stringify({ version: "9.9.9" }));
    await packUpgrade(folder, maker.privateKey.export({ type: "pkcs8", format: "pem" }).toString(), file);
    await sendControlCommand(hub.dataDir, { order: "upgrade.offer", args: { file } });
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await hub?.stop();
  });

  it("appear on a map by site with text and icon, and are upgraded in batches by keyboard", async () => {
    const { page, open, axe, errors } = await openConsole(browser, hub.url);
    await open("/appliances");
    const map = page.getByRole("region", { name: "Map of the appliances" });
    await map.getByRole("button", { name: /^North campus\. North hall: Not linked yet, North gym/ }).press("Enter");
    await page.getByText("Only at North campus").waitFor();
    const list = page.getByRole("list", { name: "Appliances" });
    await list.getByRole("listitem").nth(1).waitFor();
    expect(await list.getByRole("listitem").count()).toBe(2);
    await page.getByRole("checkbox", { name: "Select all" }).press("Space");
    await page.getByRole("button", { name: "Upgrade 2 appliances …" }).press("Enter");
    const sheet = page.getByRole("dialog");
    await sheet.getByText("2 appliances are upgraded to 9.9.9.").waitFor();
    await sheet.getByRole("textbox", { name: "Appliances in the first wave" }).press("Enter");
    await sheet.waitFor({ state: "detached" });
    const upgrade = page.getByRole("region", { name: "Staged upgrade" });
    await upgrade.getByText("None of the remaining appliances is connected.").waitFor();
    await upgrade.getByRole("listitem").filter({ hasText: "Wave 1" }).getByText("1 waiting").waitFor();
    await upgrade.getByRole("button", { name: "Pause" }).press("Enter");
    await upgrade.getByText("Paused").waitFor();
    expect(await axe()).toEqual([]);
    await upgrade.getByRole("button", { name: "Cancel upgrade" }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Cancel upgrade" }).press("Enter");
    await upgrade.getByText("Cancelled").waitFor();
    await page.getByRole("button", { name: "Show all" }).press("Enter");
    await list.getByRole("button", { name: "Annex" }).waitFor();
    expect(errors).toEqual([]);
  });
});
