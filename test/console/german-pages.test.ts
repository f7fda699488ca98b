import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { createApiClient } from "../../src/api-client/api-client.ts";
import en from "../../src/lib/sentences/en.json" with { type: "json" };
import { CORE_CATALOGUE, type Sentence } from "../../src/lib/sentences/sentences.ts";
import type { HealthReason } from "../../src/ops/health/health.ts";
import { startBrowser } from "../support/browser.ts";
import { CONSOLE_PAGES, openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createEnglishFinder, findEnglishLines } from "../support/english-texts.ts";
import { externalProgram } from "../support/external-programs.ts";
import { createSampleScenarios } from "../support/scenario-samples.ts";
import { placeholdersOf } from "../support/sentences.ts";
import { eventually } from "../support/timeouts.ts";

const { describe, it } = externalProgram("chromium");

/** Lines of a page: visible text by element, and what is read out or shown in fields. */
const LINES = `(() => {
  const lines = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT);
  for (let element = walk.nextNode(); element; element = walk.nextNode()) {
    if (element.closest("script, style, noscript, pre, code") || !element.checkVisibility()) continue;
    for (const name of ["aria-label", "placeholder", "title", "alt"]) {
      const text = element.getAttribute(name);
      if (text) lines.push(...text.split("\\n"));
    }
    const direct = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (direct) lines.push(...element.innerText.split("\\n"));
  }
  return lines;
})()`;

/** Everything that can be wrong with an appliance, with values that are German in every language. */
function everyHealthReason(): HealthReason[] {
  return Object.entries(en)
    .filter(([code]) => code.startsWith("health.") && !/self-test-|schedule-|zone-(first|names|ring)/.test(code))
    .map(([code, message], at) => {
      const params = placeholdersOf(message).map(({ name, isCount }) => [name, isCount ? 2 + at : `Wert ${at}`]);
      const reason = CORE_CATALOGUE.render.en(code, Object.fromEntries(params)) as Sentence;
      return { level: at % 2 === 0 ? "red" : "yellow", code: `test:${code}`, reason };
    });
}

/** A field without a label is shown by the name of its property. */
const PROPERTY_NAME = /^[a-z]+([A-Z][a-z]+)+$/;

/** Texts of the sample scenarios. */
const ENTERED = ["Somebody dangerous is in or near the building."];

describe("a German console", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  const ids: Record<string, string> = {};
  const findEnglish = createEnglishFinder();

  beforeAll(async () => {
    daemon = await startTestDaemon({ source: everyHealthReason });
    const api = createApiClient(daemon.url, daemon.first.token);
    const { userId } = await api.get<{ userId: string }>("/session");
    await daemon.call("PUT", `/users/${userId}/profile`, { preferredLanguage: "de-DE" });
    const group = await api.post<{ id: string }>("/device-groups", { name: "Alle", filterType: "ACCEPT", filters: [] });
    const extensions = await api.get<{ data: { id: string; name: string }[] }>("/extensions?limit=100");
    const extensionId = extensions.data.find(({ name }) => name === "onprem")?.id;
    const own = await api.get<{ data: { id: string }[] }>(`/extensions/${extensionId}/endpoints`);
    await api.post(`/extensions/${extensionId}/endpoints/${own.data[0]?.id}/devices`, {
      ...{ type: "phones", deviceIdentifier: "SEP0011223344AA", description: "Raum 214" },
      attributes: { IPAddress: "127.0.0.1", HttpPort: "1" },
    });
    const drill = { subject: "Probe", drill: true, deviceGroupIds: [group.id], userIds: [userId] };
    ids.notification = (await api.post<{ id: string }>("/notifications", drill)).id;
    ids.incident = (await createSampleScenarios(api, group.id)).incident ?? "";
    const alarms = await api.get<{ data: { id: string; type: string }[] }>("/alarms?limit=100");
    ids.alarm = alarms.data.find(({ type }) => type === "onprem_server_red")?.id ?? "";
    await api.post(`/alarms/${ids.alarm}/actions`, { triggerOnStatus: "ACTIVE" });
    const alarmMessages = async () =>
      (await api.get<{ data: { id: string; subject: string }[] }>("/notifications?draft=false&limit=100")).data.filter(
        ({ subject }) => subject.startsWith("Alarm: "),
      );
    await eventually(async () => {
      ids.alarmMessage = (await alarmMessages())[0]?.id ?? "";
      expect(ids.alarmMessage).not.toBe("");
    });
    browser = await startBrowser();
  }, 300_000);

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  const openGerman = () => openConsole(browser, daemon.url, { locale: "de-DE" });
  const linesOf = (page: Page) => page.evaluate<string[]>(LINES);

  it("shows no English sentence on any page", async () => {
    const window = await openGerman();
    const extensions = await createApiClient(daemon.url, daemon.first.token).get<{ data: { id: string }[] }>(
      "/extensions?limit=100",
    );
    const more = [
      "/settings",
      ...extensions.data.map(({ id }) => `/system?open=${id}`),
      `/broadcasts/${ids.notification}`,
      `/broadcasts/${ids.notification}/rooms`,
      `/broadcasts/${ids.notification}/roll-call`,
      `/broadcasts/${ids.alarmMessage}`,
      `/incidents/${ids.incident}`,
      ...["/alarms", `/alarms?open=${ids.alarm}`, "/system-health", "/plugins", "/backups", "/emergencies"],
    ];
    const found: string[] = [];
    for (const path of [...CONSOLE_PAGES, ...more]) {
      await window.open(path);
      // The audit shows rows as they are stored.
      const lines = (await linesOf(window.page)).filter(
        (line) => path !== "/audit" || !line.startsWith("Nachrichten: "),
      );
      found.push(...[...findEnglish(lines), ...findEnglishLines(lines, ENTERED)].map((fault) => `${path} ${fault}`));
      found.push(...lines.filter((line) => PROPERTY_NAME.test(line)).map((line) => `${path} ${line}`));
    }
    expect(found).toEqual([]);
  }, 600_000);

  it("shows reasons, alarms, settings and reports in German", async () => {
    const window = await openGerman();
    await window.open("/system-health");
    const health = (await linesOf(window.page)).join("\n");
    expect(health).toContain("Die Uhr ist nicht synchronisiert");
    await window.open("/settings");
    expect((await linesOf(window.page)).join("\n")).toContain("Mindestlänge neuer Passwörter in Zeichen.");
    const { data } = await createApiClient(daemon.url, daemon.first.token).get<{
      data: { id: string; name: string }[];
    }>("/extensions?limit=100");
    await window.open(`/system?open=${data.find(({ name }) => name === "mqtt-input")?.id}`);
    const form = (await linesOf(window.page)).join("\n");
    expect(form).toContain("Benutzername am Broker.");
    expect(form).toContain("URL des Brokers");
    await window.open(`/broadcasts/${ids.alarmMessage}`);
    expect(await window.page.locator("h1").innerText()).toMatch(/^Alarm ausgelöst: Server schwer beeinträchtigt/);
    await window.page.goto(`${daemon.url}/api/v1/incidents/${ids.incident}/report/page`);
    const report = await linesOf(window.page);
    expect(report).toEqual(expect.arrayContaining(["Verlauf", "Ereignis begonnen", "ÜBUNG"]));
    expect(findEnglish(report)).toEqual([]);
  });

  it("shows missing permissions, tests of providers and problems of plugins in German", async () => {
    // A directory changes the fields of the log-in.
    const window = await openGerman();
    const api = createApiClient(daemon.url, daemon.first.token);
    const { id: userId } = await api.post<{ id: string }>("/users", { name: "Otto", email: "otto@example.org" });
    const { id: providerId } = await api.post<{ id: string }>("/identity-providers", {
      ...{ name: "Haus", type: "ldap", url: "ldap://127.0.0.1:1", userBase: "dc=example,dc=org" },
    });
    const extensions = await api.get<{ data: { id: string; name: string }[] }>("/extensions?limit=100");
    const extensionId = extensions.data.find(({ name }) => name === "http-report")?.id;
    await daemon.call("PUT", `/extensions/${extensionId}`, { config: { reports: [{ key: "a b" }] }, disabled: false });
    const shows = async (...texts: string[]) => {
      for (const text of texts) await window.page.getByText(text).first().waitFor();
      expect(findEnglish(await linesOf(window.page))).toEqual([]);
    };
    await window.open(`/rights?user=${userId}&thing=users&verb=post`);
    await shows("Kein Recht umfasst hier post");
    await window.open(`/identity-providers?open=${providerId}`);
    await window.page.getByRole("tab", { name: "Verbindung" }).click();
    await window.page.getByRole("button", { name: "Verbindung testen" }).click();
    await shows("Haus ist nicht erreichbar: Die Verbindung wurde abgelehnt");
    await window.open(`/system?open=${extensionId}`);
    await shows("reports[0] muss einen Schlüssel aus Kleinbuchstaben, Ziffern und Bindestrichen haben");
  });

  it("would be noticed if it were English", async () => {
    const quoting = "Die Gegenstelle hat die Verbindung abgebrochen: the socket is closed";
    const strange = "A plugin of the school district is not ready.";
    expect(findEnglishLines([strange, quoting, "Not am Mann", "Was ist das?", "HOST:PORT"])).toEqual([strange]);
    expect(findEnglish(["Alarm: Server", "Die Anlage", "The clock was set back by 7 s."])).toEqual([
      "src/lib/sentences health.clock-back: The clock was set back by 7 s.",
    ]);
  });
});
