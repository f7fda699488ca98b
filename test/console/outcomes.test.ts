import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { eventually } from "../support/timeouts.ts";

const { describe, it } = externalProgram("chromium");

describe("the outcome of a message", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  const ids = new Map<string, string>();

  const post = async <T = { id: string }>(path: string, body: object): Promise<T> => {
    const answer = await daemon.call<T>("POST", path, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body;
  };
  const send = async (subject: string, groups: readonly string[]): Promise<void> => {
    const message = { subject, alertTone: "chime", deviceGroupIds: groups.map((name) => ids.get(name)) };
    const { id } = await post("/notifications", message);
    ids.set(subject, id);
    type Shown = { progress: { percentComplete: number } };
    await eventually(async () => {
      const { progress } = (await daemon.call<Shown>("GET", `/notifications/${id}`)).body;
      return progress.percentComplete === 100;
    });
  };

  beforeAll(async () => {
    daemon = await startTestDaemon({
      settings: "network: {allowedTargets: [127.0.0.0/8], multicastInterface: 127.0.0.1}\n",
    });
    const site = (await post("/sites", { name: "School" })).id;
    const building = (await post(`/sites/${site}/buildings`, { name: "Main" })).id;
    const floors = `/sites/${site}/buildings/${building}/floors`;
    const floor = (await post(floors, { name: "Ground", rank: 0 })).id;
    const devices = `/extensions/${daemon.first.extensionId}/endpoints/${daemon.first.endpointId}/devices`;
    const add = async (name: string, zone: string, device: object): Promise<void> => {
      const zoneId = (await post(`${floors}/${floor}/zones`, { name: zone })).id;
      const { icopId } = await post<{ icopId: string }>(devices, { name, description: name, zoneId, ...device });
      ids.set(name, (await post("/device-groups", { name, filterType: "REJECT", additionIds: [icopId] })).id);
    };
    // No device listens at these addresses.
    const off = { IPAddress: "127.9.9.9", HttpPort: "9" };
    await add("Phone 1", "Office", { type: "phones", deviceIdentifier: "SEP0011223344AA", attributes: off });
    await add("Phone 2", "Library", { type: "phones", deviceIdentifier: "SEP0011223344AB", attributes: off });
    const zone = { Group: "239.255.77.9", Port: "20480" };
    await add("Hall", "Hall", { type: "speakers", deviceIdentifier: "zone:hall", attributes: zone });
    await send("Lockdown", ["Phone 1", "Phone 2"]);
    await send("Assembly", ["Hall", "Phone 1"]);
    await send("Lesson", ["Hall"]);
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  const RESULTS = [
    ["Lockdown", "Reached no one", "bad"],
    ["Assembly", "Partly reached", "warn"],
    ["Lesson", "No receipt", "info"],
  ] as const;

  for (const path of ["/", "/broadcasts"])
    it(`is the same at ${path}, and never green only because the notification has ended`, async () => {
      const { page, open, axe, errors } = await openConsole(browser, daemon.url);
      await open(path);
      for (const [subject, verdict, tone] of RESULTS) {
        const line = page.locator("li, [role=row]").filter({ has: page.getByRole("link", { name: subject }) });
        await line.locator(`.chip.${tone}`).getByText(verdict).first().waitFor();
        await line.locator(".chip:not(.good)").getByText("Finished").first().waitFor();
      }
      expect(await page.locator(".chip.good").filter({ hasText: "Finished" }).count()).toBe(0);
      expect(await axe()).toEqual([]);
      expect(errors).toEqual([]);
    });

  for (const [subject, verdict, tone] of RESULTS)
    it(`of ${subject} reads ${verdict} on its page and by room`, async () => {
      const { page, open, axe, errors } = await openConsole(browser, daemon.url);
      await open(`/broadcasts/${ids.get(subject)}`);
      await page.locator(`header .chip.${tone}`).getByText(verdict).waitFor();
      await page.getByRole("link", { name: "By room" }).click();
      await page.getByRole("heading", { name: "By room" }).waitFor();
      if (tone !== "info") await page.locator("li .chip.bad").getByText("Reached no one").first().waitFor();
      if (tone !== "bad") await page.locator("li .chip.info").getByText("No receipt").first().waitFor();
      expect(await page.locator("li .chip.good").count()).toBe(0);
      expect(await axe()).toEqual([]);
      expect(errors).toEqual([]);
    });

  it("lists the devices of an outcome with the reason", async () => {
    const { page, open } = await openConsole(browser, daemon.url);
    await open(`/broadcasts/${ids.get("Assembly")}`);
    await page.locator(".chip-button.bad").getByText("Not reached").click();
    const ledger = page.locator(".ledger");
    await ledger.getByText("Phone 1").first().waitFor();
    await ledger.locator(".chip.bad").getByText("Not reached").waitFor();
    await expect.poll(() => ledger.getByText("Hall", { exact: true }).count()).toBe(0);
    await page.locator(".chip-button.info").getByText("Sent, no receipt").click();
    await ledger.getByText("Hall", { exact: true }).first().waitFor();
    await expect.poll(() => ledger.getByText("Phone 1").count()).toBe(0);
  });
});
