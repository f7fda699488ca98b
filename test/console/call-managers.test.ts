import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { parseSimulatorOptions, type SimulatorOptions } from "../../src/tools/simulator/options.ts";
import { type Simulator, startSimulator } from "../../src/tools/simulator/simulator.ts";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { pollUntil } from "../support/cuttable-proxy.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

const CLUSTER = { name: "Campus", axlAddress: "127.0.0.1:1", axlUser: "axl", axlPassword: "hunter2", snmpVersion: "2" };

async function make(at: TestDaemon, path: string, body: object): Promise<string> {
  const made = await at.call<{ id: string }>("POST", path, body);
  expect([path, made.status, made.body]).toEqual([path, 200, made.body]);
  return made.body.id;
}

describe("call managers in the console", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());

  describe("of an appliance", () => {
    let daemon: TestDaemon;
    let simulator: Simulator;
    let phone: string;

    beforeAll(async () => {
      simulator = await startSimulator(parseSimulatorOptions(["--phones", "1"]) as SimulatorOptions, systemClock);
      daemon = await startTestDaemon();
      const [{ type, deviceIdentifier, description, attributes }] = simulator.devices as [Simulator["devices"][0]];
      const device = { endpointId: daemon.first.endpointId, type, deviceIdentifier, description, attributes };
      phone = await make(daemon, `/extensions/${daemon.first.extensionId}/devices`, device);
      await control("/auth-url", { url: daemon.urls["ip-phones/auth"] });
      await control(`/phones/${deviceIdentifier}/setup`, { webAccess: "off" });
    });
    afterAll(async () => {
      await daemon?.stop();
      await simulator?.stop();
    });

    const control = async (path: string, body: object): Promise<void> =>
      void (await fetch(`${simulator.control}${path}`, { method: "POST", body: JSON.stringify(body) }));

    it("take a TFTP server, after which a phone says why it refuses messages, and that it takes them", async () => {
      const cluster = await make(daemon, "/callmgr-clusters", { ...CLUSTER, snmpCommunity: "p" });
      const { page, open, axe, errors } = await openConsole(browser, daemon.url);
      await open(`/clusters?open=${cluster}`);
      await page.getByRole("textbox", { name: "TFTP server", exact: true }).fill("127.0.0.1");
      await page.getByRole("textbox", { name: "Port of the TFTP server" }).fill(String(simulator.tftpPort));
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Saved.").waitFor();
      await open(`/devices?open=${phone}`);
      await page.getByRole("button", { name: "Check configuration" }).click();
      await page.getByText("Web access is off: this phone refuses pushes.").waitFor();
      await page.getByText("Refuses messages").waitFor();
      expect(await axe()).toEqual([]);
      await control(`/phones/${simulator.devices[0]?.deviceIdentifier}/setup`, { webAccess: "full" });
      await page.getByRole("button", { name: "Check configuration" }).click();
      await page.getByText("The phone takes messages from this appliance.").waitFor();
      expect(errors).toEqual([]);
    });
  });

  describe("of the cloud", () => {
    let hub: TestDaemon;
    let site: TestDaemon;

    beforeAll(async () => {
      hub = await startTestDaemon({ isHub: true });
      const alone = await startTestDaemon();
      const { body } = await hub.call<{ code: string }>("POST", "/link/codes", {});
      await alone.cloudLink.site?.enrol({ hub: hub.url, code: body.code, mode: "join", authority: null });
      await alone.stop();
      site = await startTestDaemon({ after: alone });
      // The cloud gets the appliance's row with the first rows that it sends.
      const { extensionId, endpointId } = site.first;
      await pollUntil(
        async () => (await hub.call("GET", `/extensions/${extensionId}/endpoints/${endpointId}`)).status,
        (status) => status === 200,
      );
    }, 120_000);
    afterAll(async () => {
      await site?.stop();
      await hub?.stop();
    });

    it("hand their passwords to an appliance once somebody agrees, and say whose key they are sealed for", async () => {
      const cluster = await make(hub, "/callmgr-clusters", { ...CLUSTER, snmpCommunity: "p" });
      const server = { endpointId: site.first.endpointId, cmAddress: "127.0.0.1", cmUsername: "cti" };
      await make(hub, `/callmgr-clusters/${cluster}/onprem-servers`, server);
      const fetched = async (): Promise<number> => {
        await site.cloudLink.site?.fetchSecrets();
        return site.cloudLink.site?.secretTasks().length ?? 0;
      };
      await pollUntil(fetched, (missing) => missing === 2);
      await fetched();
      const { page, open, axe, errors } = await openConsole(browser, hub.url);
      await open(`/clusters?open=${cluster}`);
      await page.getByRole("tab", { name: "Passwords" }).click();
      await page.getByText(site.cloudLink.site?.exchangeKeyFingerprint() ?? "no key").waitFor();
      await page.getByText("Not handed over").waitFor();
      const sheet = page.getByRole("dialog");
      await sheet.getByRole("checkbox").check();
      await sheet.getByRole("button", { name: "Save" }).click();
      await page.getByText("Agreed").waitFor();
      expect(await axe()).toEqual([]);
      await pollUntil(fetched, (missing) => missing === 0);
      expect(await fetched()).toBe(0);
      expect(errors).toEqual([]);
    });
  });
});
