import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { listAll } from "../../src/api-client/api-client.ts";
import { type BroadcastHarness, startBroadcastHarness } from "../support/broadcast-harness.ts";
import { startBrowser } from "../support/browser.ts";
import { runCarillon } from "../support/carillon-process.ts";
import { openConsole } from "../support/console-pages.ts";
import { externalProgram } from "../support/external-programs.ts";
import { eventually } from "../support/timeouts.ts";

const { describe, it } = externalProgram("chromium");

const PHONES = 40;
const DEAD = 10;
const LATE = 10;
const ON_TIME = PHONES - DEAD - LATE;
/** Later than the end of the sound, which begins after 0.7 s. */
const LATE_MS = 4_000;
const SOUND_SECONDS = 1;

type Outcomes = Record<string, number>;

/** What a view says of the lockdown. */
interface View {
  played: number;
  textOnly: number;
  notReached: number;
}

describe("a lockdown with late and dead phones", () => {
  let scene: BroadcastHarness;
  let browser: Browser;
  let id = "";
  let incidentId = "";

  const lateNames: string[] = [];

  const control = async (name: string, action: string, body: object): Promise<void> => {
    const path = `${scene.campus.control}/phones/${name}/${action}`;
    expect((await fetch(path, { method: "POST", body: JSON.stringify(body) })).status).toBe(204);
  };
  const setLatency = async (latency: string | null): Promise<void> => {
    for (const name of lateNames) await control(name, "latency", { latency });
  };
  const carillon = (...args: string[]) => runCarillon([...args, "--url", scene.url()], { CARILLON_TOKEN: scene.token });

  /** The same question to every view that is not a page. */
  const views = {
    async api(): Promise<View> {
      const { progress } = await scene.api().get<{ progress: { outcomes: Outcomes } }>(`/notifications/${id}`);
      return viewOf(progress.outcomes);
    },
    async ledger(): Promise<View> {
      const rows = await listAll<{ outcome: string }>(scene.api(), `/notifications/${id}/devices`);
      return count(rows.map(({ outcome }) => outcome));
    },
    async rooms(): Promise<View> {
      const { rooms } = await scene
        .api()
        .get<{ rooms: { devices: { outcome: string }[] }[] }>(`/notifications/${id}/rooms`);
      return count(rooms.flatMap(({ devices }) => devices.map(({ outcome }) => outcome)));
    },
    async report(): Promise<View> {
      const { messages } = await scene
        .api()
        .get<{ messages: { id: string; outcomes: Outcomes }[] }>(`/incidents/${incidentId}/report`);
      return viewOf(messages.find((message) => message.id === id)?.outcomes ?? {});
    },
    async cli(): Promise<View> {
      const { code, stdout } = await carillon("message", id, "--json");
      const { devices } = JSON.parse(stdout) as { devices: { outcome: string }[] };
      const found = count(devices.map(({ outcome }) => outcome));
      expect(code).toBe(found.notReached > 0 ? 1 : 0);
      return found;
    },
  };

  async function expectEverywhere(expected: View): Promise<void> {
    // A dead phone is in progress again while it is tried again.
    for (const [name, view] of Object.entries(views))
      await expect.poll(async () => [name, await view()]).toEqual([name, expected]);
  }

  /** What the pages of the console show. */
  async function expectOnPages(page: Page, open: (path: string) => Promise<void>, expected: View): Promise<void> {
    for (const path of ["/", "/broadcasts"]) {
      await open(path);
      const line = page.locator("li, [role=row]").filter({ has: page.getByRole("link", { name: "Lockdown" }) });
      await line.locator(".chip.warn").getByText("Partly reached").first().waitFor();
    }
    await open(`/broadcasts/${id}`);
    await page.locator("header .chip.warn").getByText("Partly reached").waitFor();
    await page.getByRole("button", { name: new RegExp(`${expected.notReached} ?Not reached`) }).waitFor();
    if (expected.textOnly > 0)
      await page.getByRole("button", { name: new RegExp(`${expected.textOnly} ?Text only`) }).waitFor();
    else expect(await page.getByRole("button", { name: /Text only/ }).count()).toBe(0);
    await open(`/broadcasts/${id}/rooms`);
    await page.getByRole("heading", { name: "By room" }).waitFor();
    await page.locator("li .chip.bad").getByText("Reached no one").waitFor();
    const late = expected.textOnly > 0 ? [".chip.warn", "Text only"] : [".chip.good", "Reached"];
    const room = page.getByRole("listitem").filter({ hasText: "Late wing" });
    await room
      .locator(late[0] as string)
      .getByText(late[1] as string)
      .first()
      .waitFor();
  }

  beforeAll(async () => {
    scene = await startBroadcastHarness({ phones: PHONES, zones: 0 }, 100);
    browser = await startBrowser();
    const api = scene.api();
    const site = await api.post<{ id: string }>("/sites", { name: "School" });
    const building = await api.post<{ id: string }>(`/sites/${site.id}/buildings`, { name: "Main" });
    const floors = `/sites/${site.id}/buildings/${building.id}/floors`;
    const floor = await api.post<{ id: string }>(floors, { name: "Ground", rank: 0 });
    const zone = (name: string) => api.post<{ id: string }>(`${floors}/${floor.id}/zones`, { name });
    const [onTime, late, dead] = [await zone("Near wing"), await zone("Late wing"), await zone("Dead wing")];
    const devices = await listAll<{ id: string; deviceIdentifier: string; extensionId: string; endpointId: string }>(
      api,
      "/devices",
    );
    for (const [at, { id: deviceId, extensionId, endpointId, deviceIdentifier }] of devices.entries()) {
      const zone = at < DEAD ? dead : at < DEAD + LATE ? late : onTime;
      const device = `/extensions/${extensionId}/endpoints/${endpointId}/devices/${deviceId}`;
      await api.put(device, { zoneId: zone.id });
      if (zone === dead) await control(deviceIdentifier, "online", { online: false });
      if (zone === late) lateNames.push(deviceIdentifier);
    }
  });

  afterAll(async () => {
    await browser?.close();
    await scene?.end();
  });

  it("shows the same in every view, also for late phones that only show the text", async () => {
    await setLatency(`fixed:${LATE_MS}`);
    const { id: incidentPlanId } = await scene.api().post<{ id: string }>("/incident-plans", { name: "Lockdown" });
    id = await scene.send("Lockdown", SOUND_SECONDS, { priority: "critical", incidentPlanId });
    incidentId = (await scene.api().get<{ incidentId: string }>(`/notifications/${id}`)).incidentId;
    const expected: View = { played: ON_TIME, textOnly: LATE, notReached: DEAD };
    await scene.waitUntilFinished(id);
    await expectEverywhere(expected);
    const { page, open, errors } = await openConsole(browser, scene.url());
    await expectOnPages(page, open, expected);
    expect(errors).toEqual([]);
  });

  it("reaches the late phones when they answer in time, in every view", async () => {
    await setLatency(null);
    const expected: View = { played: ON_TIME + LATE, textOnly: 0, notReached: DEAD };
    await eventually(async () => expect(await views.api()).toEqual(expected));
    await expectEverywhere(expected);
    const { page, open, errors } = await openConsole(browser, scene.url());
    await expectOnPages(page, open, expected);
    await page.goto(`${scene.url()}/broadcasts/${id}`);
    await page.getByText("Sent again until everyone has heard it").waitFor();
    expect(errors).toEqual([]);
    const again = (await scene.activityLog(id)).map(({ details }) => details?.message);
    expect(again.filter((message) => message?.startsWith("Sent again automatically")).length).toBeGreaterThan(0);
  });
});

function viewOf(outcomes: Outcomes): View {
  const { played = 0, heard = 0, textOnly = 0, notReached = 0 } = outcomes;
  return { played: played + heard, textOnly, notReached };
}

function count(outcomes: readonly string[]): View {
  const of = (...names: string[]): number => outcomes.filter((one) => names.includes(one)).length;
  return { played: of("played", "heard"), textOnly: of("textOnly"), notReached: of("notReached") };
}
