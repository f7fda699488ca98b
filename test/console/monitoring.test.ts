import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { checkPages } from "../support/page-sweep.ts";

const { describe, it } = externalProgram("chromium");

describe("the monitoring pages", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  let extensionId: string;
  let endpointId: string;

  beforeAll(async () => {
    daemon = await startTestDaemon({
      settings: "network: {allowedTargets: [127.0.0.0/8], multicastInterface: 127.0.0.1}\n",
    });
    browser = await startBrowser();
    const extensions = await daemon.call<{ data: { id: string; name: string }[] }>("GET", "/extensions?limit=100");
    extensionId = extensions.body.data.find(({ name }) => name === "onprem")?.id ?? "";
    const own = await daemon.call<{ data: { id: string }[] }>("GET", `/extensions/${extensionId}/endpoints`);
    endpointId = own.body.data[0]?.id ?? "";
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  it("say who would call a phone and test the way to it", async () => {
    const post = async (path: string, json: object) => (await daemon.call<{ id: string }>("POST", path, json)).body.id;
    const away = await post(`/extensions/${extensionId}/endpoints`, { name: "Annex" });
    const attributes = { IPAddress: "127.0.0.1", HttpPort: "1" };
    await post(`/extensions/${extensionId}/endpoints/${endpointId}/devices`, {
      ...{ type: "phones", deviceIdentifier: "SEP0011223344AA", description: "Room 214", attributes },
    });
    const group = { name: "West wing", priority: 1, endpointIds: [away, endpointId], filterType: "ACCEPT" };
    await post("/activation-groups", group);
    const { page, open, errors } = await openConsole(browser, daemon.url);
    await open("/activation-groups");
    await page.getByRole("textbox", { name: "Which appliance would call this device?" }).fill("Room 214");
    await page.getByText("First reachable appliance of West wing").waitFor();
    await page.getByRole("listitem").filter({ hasText: "Annex" }).getByText("unreachable").waitFor();
    await open("/devices");
    await page.getByRole("button", { name: "Room 214" }).click();
    await page.getByRole("button", { name: "Test connection" }).click();
    await page.locator("[role=dialog]").getByText("connection refused").waitFor();
    expect(errors).toEqual([]);
  });

  it("have no findings of axe, the browser or the content security policy, in light, in dark and on a phone", async () => {
    const swept = ["/system-health", "/backups", "/settings", "/activation-groups", "/clusters?open=new"].map(
      (path) => ({ path }),
    );
    expect(await checkPages(browser, daemon.url, swept)).toEqual([]);
  });
});
