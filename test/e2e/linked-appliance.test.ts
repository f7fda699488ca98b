import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { productVersion } from "../../src/lib/product-version.ts";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { type CuttableProxy, openCuttableProxy, pollUntil } from "../support/cuttable-proxy.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { checkPages } from "../support/page-sweep.ts";

let hub: TestDaemon;
let site: TestDaemon;
let line: CuttableProxy;

async function make(at: TestDaemon, path: string, body: object): Promise<string> {
  const made = await at.call<{ id: string }>("POST", path, body);
  expect([path, made.status, made.body]).toEqual([path, 200, made.body]);
  return made.body.id;
}

const nameAt = async (at: TestDaemon, path: string): Promise<unknown> => (await at.call("GET", path)).body.name;

type Row = Readonly<Record<string, unknown>>;

const conflictsOf = async (at: TestDaemon): Promise<readonly Row[]> =>
  (await at.call<{ conflicts: Row[] }>("GET", "/link/conflicts")).body.conflicts;

const arrives = (at: TestDaemon, path: string, name: string | undefined) =>
  pollUntil(
    () => nameAt(at, path),
    (found) => found === name,
  );

beforeAll(async () => {
  hub = await startTestDaemon({ isHub: true });
  line = await openCuttableProxy(hub.url);
  const alone = await startTestDaemon();
  await make(alone, "/sites", { name: "Annex" });
  const { code } = (await hub.cloudLink.hub?.createEnrolmentCode({ endpoint: null, domainIds: null })) ?? { code: "" };
  await alone.cloudLink.site?.enrol({ hub: line.url, code, mode: "adopt", authority: null });
  await alone.stop();
  site = await startTestDaemon({ after: alone });
  await pollUntil(
    async () => site.cloudLink.report().link?.state,
    (state) => state === "connected",
  );
}, 120_000);
afterAll(async () => {
  await site?.stop();
  line?.end();
  await hub?.stop();
});

describe("an appliance that is linked to a cloud", () => {
  it("receives rows created in the cloud, and sends its changes to the cloud", async () => {
    const group = await make(hub, "/device-groups", { name: "Canteen" });
    expect(await arrives(site, `/device-groups/${group}`, "Canteen")).toBe("Canteen");
    await site.call("PUT", `/device-groups/${group}`, { name: "Dining hall" });
    expect(await arrives(hub, `/device-groups/${group}`, "Dining hall")).toBe("Dining hall");
  });

  it("brought its rows under their ids, and shares domain and administrator with the cloud", async () => {
    const names = async (at: TestDaemon, path: string): Promise<string[]> =>
      (await at.call<{ data: { id: string; name: string }[] }>("GET", path)).body.data
        .map(({ id, name }) => `${id} ${name}`)
        .sort();
    for (const path of ["/sites", "/domains", "/users", "/security-groups", "/notification-profiles"]) {
      expect([path, await names(hub, path)]).toEqual([path, await names(site, path)]);
    }
    expect([(await names(hub, "/sites")).length, site.cloudLink.report().parked]).toEqual([1, 0]);
  });

  it("plays notifications of the cloud on its devices, and reports each outcome to the cloud", async () => {
    const at = `/extensions/${site.first.extensionId}/endpoints/${site.first.endpointId}/devices`;
    const attributes = { Group: "239.192.99.7", Port: "20480", Codec: "PCMU", TTL: "1" };
    const zone = { type: "speakers", deviceIdentifier: "zone:canteen", description: "Canteen", attributes };
    const device = await make(site, at, zone);
    await pollUntil(
      async () => (await hub.call("GET", `${at}/${device}`)).status,
      (status) => status === 200,
    );
    const message = { subject: "Lunch", alertTone: "chime", additionalDeviceIds: [device] };
    const sent = await make(hub, "/notifications", message);
    interface Delivery {
      level: string;
      reason: string | null;
      endedAt: string | null;
    }
    const lines = await pollUntil(
      async () => (await hub.call<{ data: Delivery[] }>("GET", `/notifications/${sent}/devices`)).body.data,
      (data) => data.length === 1 && data[0]?.endedAt !== null,
    );
    expect(lines.map(({ level, reason }) => [level, reason])).toEqual([["sent", null]]);
    const played = (await site.call<{ data: { subject: string }[] }>("GET", "/notifications")).body.data;
    expect(played.map(({ subject }) => subject)).toEqual(["Lunch"]);
    const lastLevel = async (): Promise<unknown> => (await hub.call("GET", `${at}/${device}`)).body.lastLevel;
    expect(await pollUntil(lastLevel, (found) => found !== null)).toBe("sent");
  });

  it("carries out orders that are given in the cloud, and says what became of them", async () => {
    const at = `/extensions/${site.first.extensionId}/endpoints/${site.first.endpointId}/activities`;
    const id = await make(hub, at, { type: "collect-logs" });
    const state = async (): Promise<unknown> => (await hub.call("GET", `${at}/${id}`)).body.state;
    expect(await pollUntil(state, (found) => found !== "pending")).toBe("success");
  });

  it("agrees with the cloud again after a time without it; where both changed one field the cloud's stays", async () => {
    const gym = await make(hub, "/sites", { name: "Gym", latitude: 51, longitude: 4 });
    await arrives(site, `/sites/${gym}`, "Gym");
    line.cut();
    await site.call("PUT", `/sites/${gym}`, { name: "Sports hall", latitude: 52 });
    const shed = await make(site, "/sites", { name: "Shed" });
    await hub.call("PUT", `/sites/${gym}`, { name: "Gymnasium" });
    const barn = await make(hub, "/sites", { name: "Barn" });
    await line.heal();
    expect(await arrives(hub, `/sites/${shed}`, "Shed")).toBe("Shed");
    expect(await arrives(site, `/sites/${barn}`, "Barn")).toBe("Barn");
    expect(await arrives(site, `/sites/${gym}`, "Gymnasium")).toBe("Gymnasium");
    for (const at of [hub, site]) {
      expect((await at.call("GET", `/sites/${gym}`)).body).toMatchObject({ name: "Gymnasium", latitude: 52 });
    }
    expect(hub.cloudLink.hub?.conflicts()).toMatchObject([{ type: "sites", id: gym, lost: ["name"] }]);
  });

  it("shows conflicts with both values on both sides, until one is chosen", async () => {
    const [gym, hut] = [await make(hub, "/sites", { name: "Old gym" }), await make(hub, "/sites", { name: "Hut" })];
    await arrives(site, `/sites/${hut}`, "Hut");
    line.cut();
    for (const id of [gym, hut]) await site.call("PUT", `/sites/${id}`, { name: `site ${id}` });
    for (const id of [gym, hut]) await hub.call("PUT", `/sites/${id}`, { name: `cloud ${id}` });
    expect((await site.call("GET", "/link")).body).toMatchObject({ unsentRows: 2 });
    await line.heal();
    for (const id of [gym, hut]) await arrives(site, `/sites/${id}`, `cloud ${id}`);
    const [atHub, atSite] = [await conflictsOf(hub), await conflictsOf(site)];
    expect(atHub.map(({ rowId }) => rowId)).toEqual(expect.arrayContaining([gym, hut]));
    expect(new Set(atSite.map(({ id }) => id))).toEqual(new Set(atHub.map(({ id }) => id)));
    const [ofGym, ofHut] = [gym, hut].map((id) => atHub.find(({ rowId }) => rowId === id));
    expect(ofGym).toMatchObject({
      ...{ resource: "sites", op: "update", kind: "changed", usable: true, endpointId: site.first.endpointId },
      fields: [{ name: "name", site: `site ${gym}`, present: `cloud ${gym}` }],
    });
    expect((await hub.call("POST", `/link/conflicts/${ofGym?.id}/use-site-value`, {})).status).toBe(204);
    expect(await arrives(site, `/sites/${gym}`, `site ${gym}`)).toBe(`site ${gym}`);
    expect((await site.call("DELETE", `/link/conflicts/${ofHut?.id}`)).status).toBe(200);
    const left = async (at: TestDaemon) => (await conflictsOf(at)).map(({ rowId }) => rowId);
    expect([await left(hub), await left(site)]).toEqual([
      expect.not.arrayContaining([gym]),
      expect.not.arrayContaining([gym, hut]),
    ]);
    expect([await left(hub), await nameAt(hub, `/sites/${hut}`)]).toEqual([
      expect.arrayContaining([hut]),
      `cloud ${hut}`,
    ]);
    expect((await hub.call("DELETE", `/link/conflicts/${ofGym?.id}`)).status).toBe(404);
  });

  it("reports the state of the link, and the cloud that of its appliances", async () => {
    const own = await pollUntil(
      async () => (await site.call("GET", "/link")).body,
      ({ unsentRows }) => unsentRows === 0,
    );
    expect(own).toMatchObject({
      ...{ role: "appliance", endpointId: site.first.endpointId, mode: "cloud", hub: line.url, state: "connected" },
      ...{ reason: null, unsentRows: 0, unsentSince: null, lagSeconds: 0, refusedRows: 0, refused: [] },
    });
    expect((await hub.call("GET", "/link")).body).toMatchObject({ role: "hub", hub: null, state: "none" });
    const [known] = (
      await pollUntil(
        async () => (await hub.call<{ appliances: Row[] }>("GET", "/link/appliances")).body.appliances,
        ([first]) => first?.rowsBehind === 0 && first.health !== null,
      )
    ).filter(({ endpointId }) => endpointId === site.first.endpointId);
    expect(known).toMatchObject({
      link: "linked",
      version: productVersion(),
      rowsBehind: 0,
      unsentRows: expect.any(Number),
      health: { status: expect.stringMatching(/^(GREEN|YELLOW)$/), reasons: expect.any(Array) },
      behindSince: null,
      alarms: [],
    });
    expect([known?.position, known?.certificateUntil]).toEqual([known?.head, own.certificateUntil]);
    expect((await site.call("GET", "/link/appliances")).status).toBe(404);
  });

  it("makes codes at the cloud and takes them back; one that is not good changes nothing", async () => {
    const endpointId = site.first.endpointId;
    const made = await hub.call<{ code: string }>("POST", "/link/codes", { endpointId });
    const codes = async () => (await hub.call<{ codes: Row[] }>("GET", "/link/codes")).body.codes;
    const [open] = await codes();
    expect(open).toMatchObject({ endpointId });
    expect(JSON.stringify(open)).not.toContain(made.body.code);
    expect((await hub.call("DELETE", `/link/codes/${open?.id}`)).status).toBe(200);
    expect([await codes(), (await hub.call("DELETE", `/link/codes/${open?.id}`)).status]).toEqual([[], 404]);
    const tried = await site.call("POST", "/link", { hub: line.url, code: made.body.code });
    expect([tried.status, tried.body.message]).toEqual([502, "Enrolment code not found."]);
    const refused = [
      await hub.call("POST", "/link", { hub: line.url, code: "X" }),
      await site.call("POST", "/link/codes", {}),
      await site.call("POST", "/link", { hub: "cloud", code: "X" }),
      await site.call("POST", "/link", { hub: "http://169.254.1.1", code: "X" }),
      await hub.call("POST", "/link/codes", { endpointId: "0190b7c2-7f3a-7000-8000-00000000be11" }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([409, 409, 400, 502, 404]);
    expect((await site.call("GET", "/link")).body.state).toBe("connected");
  });

  it("finds what appliances did by kind, outcome, weight and time", async () => {
    const at = `/extensions/${site.first.extensionId}/endpoints/${site.first.endpointId}/activities`;
    const count = async (query: string) => (await hub.call<{ total: number }>("GET", `${at}?${query}`)).body.total;
    const order = "type=collect-logs";
    expect([
      ...[await count(order), await count(`${order}&state=success`), await count(`${order}&state=fail`)],
      ...[await count(`${order}&severity=info`), await count(`${order}&severity=error`)],
      ...[
        await count(`${order}&createdAt__gte=2020-01-01T00:00:00Z`),
        await count(`${order}&createdAt__lt=2020-01-01T00:00:00Z`),
      ],
      ...[await count(`${order}&referenceType=message-template`), await count("types[]=collect-logs&types[]=backup")],
    ]).toEqual([1, 1, 0, 1, 0, 1, 0, 0, 1]);
  });
});

externalProgram("chromium").describe("the console of an appliance and of its cloud", () => {
  let browser: Browser;
  const stateOfLink = async () => (await site.call("GET", "/link")).body.state;
  beforeAll(async () => {
    browser = await startBrowser();
  }, 180_000);
  afterAll(() => browser?.close());

  it("shows the link, sends commands and shows their outcome, without findings of axe", async () => {
    const { page, open } = await openConsole(browser, hub.url);
    await open(`/appliances?open=${site.first.endpointId}`);
    const sheet = page.getByRole("dialog");
    await sheet.getByText("Linked").waitFor();
    await sheet.getByRole("tab", { name: "Commands" }).click();
    await sheet.getByRole("combobox", { name: "Command" }).click();
    await page.getByRole("option", { name: "Resync devices" }).click();
    await sheet.getByRole("button", { name: "Send command" }).click();
    await sheet.getByRole("listitem").filter({ hasText: "Resync devices" }).getByText("Done").waitFor();
    const onHub = [
      { path: `/appliances?open=${site.first.endpointId}`, tabs: ["Commands"] },
      { path: "/link-conflicts" },
      { path: `/activities?endpoint=${site.first.endpointId}` },
    ];
    expect(await checkPages(browser, hub.url, onHub)).toEqual([]);
    expect(await checkPages(browser, site.url, [{ path: "/cloud" }])).toEqual([]);
  }, 120_000);

  it("shows at the top that the appliance is disconnected, and that its keys were revoked", async () => {
    const { page, open } = await openConsole(browser, site.url);
    await open("/cloud");
    await page.getByText("Connected to the cloud").waitFor();
    line.cut();
    await pollUntil(stateOfLink, (state) => state === "waiting");
    await open("/cloud");
    await page.locator(".top").getByText("Disconnected from the cloud").waitFor();
    await page.getByText("Alarms, bells and messages keep working here.").waitFor();
    expect((await hub.call("DELETE", `/link/appliances/${site.first.endpointId}`)).status).toBe(200);
    await line.heal();
    await pollUntil(stateOfLink, (state) => state === "refused");
    await open("/cloud");
    await page.getByText("Rejected by the cloud").waitFor();
    const [known] = (await hub.call<{ appliances: Row[] }>("GET", "/link/appliances")).body.appliances;
    expect(known).toMatchObject({ link: "revoked", certificateUntil: null });
    expect((await site.call("DELETE", "/link")).status).toBe(204);
  }, 120_000);
});
