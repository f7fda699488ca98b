import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { type ApiBody, type ApiClient, createApiClient } from "../../src/api-client/api-client.ts";
import { startBrowser, WINDOW_SIZE } from "../support/browser.ts";
import { holdUntil, openConsole, PHONE_SIZE } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { checkPages } from "../support/page-sweep.ts";
import { createSampleLoadSource, createSampleScenarios, LOCKDOWN_PIN, zoneTable } from "../support/scenario-samples.ts";

const { describe, it } = externalProgram("chromium");

describe("scenarios, incidents and tables in the console", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  let api: ApiClient;
  let ids: Record<string, string>;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    api = createApiClient(daemon.url, daemon.first.token);
    const { extensionId, endpointId } = daemon.first;
    const hall = await api.post<{ id: string }>(`/extensions/${extensionId}/endpoints/${endpointId}/devices`, {
      ...{ type: "speakers", deviceIdentifier: "zone:hall", description: "Hall" },
      attributes: { Group: "239.255.79.9", Port: 5_004, Codec: "PCMU", TTL: 1 },
    });
    const all = { name: "Everywhere", filterType: "ACCEPT", filters: [] };
    ids = await createSampleScenarios(api, (await api.post<{ id: string }>("/device-groups", all)).id);
    ids.hall = hall.id;
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  const opened = async (path: string) => {
    const console = await openConsole(browser, daemon.url);
    await console.open(path);
    return console;
  };

  const choose = async (page: Page, field: string, option: string) => {
    await page.getByRole("combobox", { name: field }).click();
    await page.getByRole("option", { name: option }).click();
  };

  it("makes a scenario with a question and tries it without sending anything", async () => {
    const { page, errors } = await opened("/scenarios?open=new");
    const sent = (await api.get<{ total: number }>("/notifications?draft=false")).total;
    await page.getByRole("textbox", { name: "Name", exact: true }).first().fill("Water is off");
    await page.getByRole("button", { name: "Water", exact: true }).click();
    const message = page.getByRole("group", { name: "Message 1" });
    await message.getByRole("textbox", { name: "Name" }).fill("To the caretakers");
    await choose(page, "Template", "Lock the doors");
    await page.getByRole("button", { name: "Add question" }).click();
    const question = page.getByRole("group", { name: "Question 1" });
    await question.getByRole("textbox", { name: "Question" }).fill("Which door?");
    await question.getByRole("textbox", { name: "Answers" }).fill("North\nSouth");
    await expect.poll(() => question.getByRole("textbox", { name: "Variable" }).inputValue()).toBe("which_door");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    await page.getByRole("button", { name: "Water is off" }).click();
    await page.getByRole("tab", { name: "Preview" }).click();
    await page.getByText("Lockdown: [Which door?]").waitFor();
    await page.getByRole("radio", { name: "South" }).check();
    await page.getByText("Somebody is at the South door.").waitFor();
    await page.getByText("1 device: Hall").waitFor();
    expect((await api.get<{ total: number }>("/notifications?draft=false")).total).toBe(sent);
    expect(errors).toEqual([]);
  });

  it("starts a scenario live from the wall, by its PIN and held, and leads back to the tiles", async () => {
    const { page, axe, errors } = await opened("/launch");
    await page.getByRole("button", { name: "Lockdown" }).click();
    const start = page.getByRole("button", { name: "Start LIVE" });
    await page.getByText("Missing: Which door?, PIN").waitFor();
    expect(await start.isDisabled()).toBe(true);
    expect(await axe()).toEqual([]);
    await page.getByRole("radio", { name: "Gym" }).check();
    for (const digit of "1111") await page.getByRole("button", { name: digit, exact: true }).click();
    await holdUntil(start, () => page.getByText(/PIN is not valid/).waitFor());
    for (const digit of LOCKDOWN_PIN) await page.getByRole("button", { name: digit, exact: true }).click();
    await holdUntil(start, () => page.getByText("Lockdown started").waitFor());
    await page.getByText("Lockdown: Gym").first().waitFor();
    await page.getByText("Stay away from windows.").waitFor();
    await page.getByRole("button", { name: "Back to all tiles" }).first().click();
    await page.getByRole("button", { name: "Storm" }).waitFor();
    const started = await api.get<{ data: { drill: boolean; scenarioId: string }[] }>(
      "/scenario-notifications?sort=-createdAt",
    );
    expect(started.data[0]).toMatchObject({ drill: false, scenarioId: ids.lockdown });
    expect(errors.filter((fault) => !fault.includes("400"))).toEqual([]);
  });

  it("shows the progress of an incident, marked as a drill, to its end", async () => {
    const console = await opened(`/incidents/${ids.incident}`);
    const { page, axe, errors } = console;
    await page.locator("header.drill").getByText("DRILL", { exact: true }).waitFor();
    await page.getByText("Room 214: 24 of 24.").waitFor();
    await api.post(`/incidents/${ids.incident}/activities`, { type: "note", details: { message: "Gym is empty." } });
    await page.getByText("Gym is empty.").waitFor();
    const question = await api.post<{ id: string }>("/confirmation-requests", { name: "All out?", options: ["Yes"] });
    await api.post(`/confirmation-requests/${question.id}/escalation-rules`, {
      ...{ delay: 1, optionLabel: "Yes", comparison: "GT", comparisonValue: 1 },
      ...{ subject: "All are out", additionalDeviceIds: [ids.hall] },
    });
    const asking = { subject: "Is everybody out?", incidentId: ids.incident, confirmationRequestId: question.id };
    await api.post("/notifications", { ...asking, additionalDeviceIds: [ids.hall] });
    await page
      .locator(".timeline li[data-kind=diary]", { hasText: "Note" })
      .getByText("no escalation is needed")
      .waitFor();
    for (const viewport of [PHONE_SIZE, WINDOW_SIZE]) {
      await page.setViewportSize(viewport);
      expect(await page.evaluate<number>("document.scrollingElement.scrollWidth")).toBeLessThanOrEqual(viewport.width);
      expect(await axe()).toEqual([]);
    }
    const german = await openConsole(browser, daemon.url);
    await german.page.addInitScript("localStorage.setItem('carillon.language', 'de')");
    await german.open(`/incidents/${ids.incident}`);
    await german.page.locator(".timeline").getByText("Hinweis").first().waitFor();
    for (const { page } of [console, german]) {
      const words = await page.locator(".timeline .chip").allInnerTexts();
      // What the API calls it, where a word is lacking.
      expect(words.filter((each) => /^[a-z-]+$/.test(each.split("\n").at(-1) ?? ""))).toEqual([]);
    }
    await page.getByRole("button", { name: "Send all-clear · DRILL" }).click();
    await page.locator(".timeline").getByText("All-clear").first().waitFor();
    const report = await page.getByRole("link", { name: "Printable report" }).getAttribute("href");
    expect((await (await page.request.get(`${daemon.url}${report}`)).text()).toUpperCase()).toContain("DRILL");
    await page.getByRole("button", { name: "End incident" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "End incident" }).click();
    await page.locator("header .chip", { hasText: /^✓Ended$/ }).waitFor();
    expect(errors).toEqual([]);
  });

  it("accounts for people, in a drill, by what the plan says of them", async () => {
    const post = (path: string, body: ApiBody) => api.post<{ id: string }>(path, body);
    const site = await post("/sites", { name: "School" });
    const role = await post("/site-roles", { name: "Class 4b" });
    const [mia, tom] = [
      await post("/users", { name: "Mia Marsh", email: "mia-marsh@users.example.org" }),
      await post("/users", { name: "Tom Tate", email: "tom-tate@users.example.org" }),
    ];
    await post(`/sites/${site.id}/recipients`, { siteRoleId: role.id, userIds: [mia.id, tom.id] });
    const plan = await post("/incident-plans", { name: "Roll call" });
    const { page, open, errors } = await opened(`/incident-plans?open=${plan.id}`);
    await page.getByRole("textbox", { name: "Statuses" }).fill("Safe\nHurt");
    await page.getByRole("textbox", { name: "Locations" }).fill("Yard");
    await choose(page, "People on the roster", "Class 4b");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    const incident = await post("/incidents", { incidentPlanId: plan.id, drill: true });
    await open(`/incidents/${incident.id}`);
    await page.getByText("0 of 2 accounted for").waitFor();
    await choose(page, "Add location", "Yard");
    await page.getByRole("button", { name: "Mia Marsh: Safe" }).click();
    await page.getByText("1 of 2 accounted for").waitFor();
    const said = await api.get<{ data: object[] }>(`/incidents/${incident.id}/roster`);
    expect(said.data).toMatchObject([{ name: "Mia Marsh", status: "Safe", location: "Yard" }, { status: null }]);
    ids.rollCall = incident.id;
    expect(errors).toEqual([]);
  });

  it("sets up a webhook for scenario starts, and changes the listening address of a zone", async () => {
    const { page, open, errors } = await opened(`/scenarios?open=${ids.fire}`);
    await page.getByRole("tab", { name: "Webhooks" }).click();
    await page.getByRole("textbox", { name: "Address" }).fill("https://192.0.2.7/started");
    await page.getByRole("button", { name: "Add call" }).click();
    await page.getByText("https://192.0.2.7/started").waitFor();
    const actions = await api.get<{ data: object[] }>(`/scenarios/${ids.fire}/rule-actions`);
    expect(actions.data).toMatchObject([{ name: "Fire", action: { webhook: { url: "https://192.0.2.7/started" } } }]);
    await open(`/devices?open=${ids.hall}`);
    await page.getByRole("tab", { name: "Change" }).click();
    await page.getByRole("textbox", { name: "Port", exact: true }).fill("70000");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Must be a whole number from 1 to 65535.").first().waitFor();
    await page.getByRole("textbox", { name: "Port", exact: true }).fill("5006");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    const { data } = await api.get<{ data: object[] }>("/devices?deviceIdentifier=zone:hall");
    expect(data).toMatchObject([{ attributes: { Port: "5006", Codec: "PCMU", TTL: "1" } }]);
    expect(errors.filter((fault) => !fault.includes("400"))).toEqual([]);
  });

  it("has no findings of axe, the browser or the content security policy where something is saved", async () => {
    const swept = [
      { path: `/incidents/${ids.rollCall}` },
      { path: `/scenarios?open=${ids.fire}`, tabs: ["Webhooks"] },
      { path: `/devices?open=${ids.hall}`, tabs: ["Change"] },
    ];
    expect(await checkPages(browser, daemon.url, swept)).toEqual([]);
  });

  it("checks a table of zones, shows which line is invalid, and imports a valid one", async () => {
    const { page, errors, open } = await opened("/bulk-uploads?open=new");
    const take = async (names: readonly string[], name: string) => {
      await choose(page, "Type", "Speakers and zones");
      const buffer = Buffer.from(zoneTable(names));
      await page.setInputFiles("input[type=file]", { name, mimeType: "text/plain", buffer });
    };
    await take(["row-1", "row-1", "row-2"], "bad.tsv");
    await page.getByText("No rows were created: 1 line has errors.").waitFor();
    await page.getByRole("button", { name: "Line 3" }).click();
    await page.getByRole("dialog", { name: "Line 3" }).getByText("zone:row-1").waitFor();
    await open("/bulk-uploads?open=new");
    await take(["row-1", "row-2", "row-3"], "good.tsv");
    await page.getByText("All 3 lines are valid. Nothing is saved yet.").waitFor();
    await page.getByRole("button", { name: "Create 3 rows" }).click();
    await page.getByText("3 rows created.").waitFor();
    expect((await api.get<{ total: number }>("/devices?q=row")).total).toBe(3);
    expect(errors).toEqual([]);
  });

  it("stops a load that would remove too many, and asks before it does", async () => {
    const id = await createSampleLoadSource(api);
    const { page, axe, errors } = await opened(`/load-definitions?open=${id}`);
    await page.getByRole("tab", { name: "Import runs" }).click();
    await page.getByRole("button", { name: "Import now" }).click();
    await page.getByText("Stopped: 12 people would be removed").waitFor();
    await page.getByRole("button", { name: "The file is correct: remove 12 people" }).click();
    await page.getByText("People removed").waitFor();
    expect((await api.get<{ total: number }>("/users?q=Person")).total).toBe(8);
    // A column that nothing reads may be one whose name was misspelt.
    const table = ["email\tname\tlists\tHouse", "p0@school.example\tPerson 0\tYear 0\tNorth", ""].join("\n");
    await api.upload(
      `/load-definitions/${id}/file`,
      new Blob([table], { type: "text/tab-separated-values" }),
      "people.tsv",
    );
    await page.getByRole("button", { name: "Test run" }).click();
    await page.getByText("1 entry skipped").waitFor();
    await page.getByText("Line 1: Column House is ignored").waitFor();
    for (const viewport of [PHONE_SIZE, WINDOW_SIZE]) {
      await page.setViewportSize(viewport);
      expect(await page.evaluate<number>("document.scrollingElement.scrollWidth")).toBeLessThanOrEqual(viewport.width);
      expect(await axe()).toEqual([]);
    }
    expect(errors).toEqual([]);
  });
});
