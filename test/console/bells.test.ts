import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { type ApiClient, createApiClient } from "../../src/api-client/api-client.ts";
import { createSampleBells } from "../support/bell-samples.ts";
import { startBrowser } from "../support/browser.ts";
import { dragBy, openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

const DAY_MS = 86_400_000;
const dayAt = (ms: number) => new Date(ms).toISOString().slice(0, 10);
/** A Monday to come; 1970 began on a Thursday. */
const MONDAY_MS = Math.ceil((Date.now() / DAY_MS - 4) / 7) * 7 * DAY_MS + 11 * DAY_MS;
const MONDAY = dayAt(MONDAY_MS);

const NEVER_EACH_MINUTE = `(() => {
  const every = globalThis.setInterval;
  globalThis.setInterval = (work, ms, ...more) => (ms === 60_000 ? 0 : every(work, ms, ...more));
})()`;

const HOLIDAYS = [
  ...["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:test", "BEGIN:VEVENT", "UID:1", "SUMMARY:Founders’ day"],
  `DTSTART;VALUE=DATE:${dayAt(MONDAY_MS + 8 * DAY_MS).replaceAll("-", "")}`,
  ...["END:VEVENT", "END:VCALENDAR", ""],
].join("\r\n");

describe("bells in the console", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  let api: ApiClient;
  let ids: Record<string, string>;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    api = createApiClient(daemon.url, daemon.first.token);
    const all = { name: "Everywhere", filterType: "ACCEPT", filters: [] };
    const { id: deviceGroupId } = await api.post<{ id: string }>("/device-groups", all);
    const days = { startDate: dayAt(Date.now() - 30 * DAY_MS), endDate: dayAt(Date.now() + 300 * DAY_MS) };
    ids = await createSampleBells(api, { deviceGroupId, ...days });
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
  const timesOf = async (id: string | undefined) =>
    (await api.get<{ entries: { time: string }[] }>(`/ring-lists/${id}`)).entries.map(({ time }) => time);
  const changes = async () =>
    (await api.get<{ data: { kind: string; minutes: number }[] }>("/bell-schedules-day-changes")).data;
  const ringAt = (page: Page, day: number, name: RegExp) =>
    page.locator(".week-day").nth(day).getByRole("button", { name });

  it("previews a ring, moves it by keyboard and by dragging, shows the effect before saving, and reverts it", async () => {
    const { page, axe, errors } = await opened(`/bells?since=${MONDAY}`);
    await ringAt(page, 0, /^08:00, Lesson bell, Upcoming, 2 schedules/).press("Alt+ArrowDown");
    const sheet = page.getByRole("dialog");
    await expect.poll(() => sheet.getByLabel("New time").inputValue()).toMatch(/^08:05/);
    // Both schools ring it, on this day alone.
    await sheet.getByText("2 rings moved").waitFor();
    expect(await axe()).toEqual([]);
    // It is over soon.
    await Promise.all([
      sheet.getByRole("button", { name: "Stop: Lesson bell" }).waitFor(),
      sheet.getByRole("button", { name: "Listen: Lesson bell" }).click(),
    ]);
    expect((await api.get<{ total: number }>("/notifications")).total).toBe(0);
    await sheet.getByRole("button", { name: "Move ring" }).click();
    await page.getByText("Ring moved to 08:05.").waitFor();
    await ringAt(page, 0, /^08:05/).waitFor();
    await ringAt(page, 1, /^08:00/).waitFor();
    expect(await changes()).toMatchObject([{ kind: "move-ring", until: "08:05:00", startDate: MONDAY }]);
    expect(await timesOf(ids.normal)).toContain("08:00:00");
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await ringAt(page, 0, /^08:00/).waitFor();
    await expect.poll(changes).toEqual([]);
    // An hour is 84 px high: 15 minutes are 21.
    await dragBy(ringAt(page, 4, /^07:55/), { x: 20, y: 10 }, { x: 0, y: -21 });
    await sheet.getByText("07:55 becomes 07:40").first().waitFor();
    await sheet.getByRole("radio", { name: "Every day with this list" }).check();
    await sheet.getByText(/^\d{2,} rings moved/).waitFor();
    await sheet.getByRole("button", { name: "Discard changes" }).click();
    expect(await timesOf(ids.short)).toContain("07:55:00");
    expect(errors).toEqual([]);
  });

  it("delays a day of all schools by two hours in four clicks, and undoes it", async () => {
    const { page, errors } = await opened(`/bells?view=year&since=${MONDAY}&day=${MONDAY}`);
    await page.locator(`[data-day="${MONDAY}"]`).click();
    await page.getByRole("button", { name: "Change this day" }).click();
    await page.getByRole("button", { name: "2 hours" }).click();
    const difference = page.getByRole("region", { name: "Changes" });
    await difference.getByText("07:55 becomes 09:55").first().waitFor();
    await difference.getByText("22 rings moved").waitFor();
    expect(await changes()).toEqual([]);
    await page.getByRole("button", { name: "Change bells" }).click();
    await page.getByText("2 schedules changed.").waitFor();
    expect(await changes()).toMatchObject([{ kind: "delay", minutes: 120 }]);
    await page.locator(`[data-day="${MONDAY}"].changed`).waitFor();
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await page.locator(`[data-day="${MONDAY}"].rings`).press("ArrowRight");
    await page.locator(`[data-day="${dayAt(MONDAY_MS + DAY_MS)}"]:focus`).waitFor();
    await expect.poll(changes).toEqual([]);
    expect(errors).toEqual([]);
  });

  it("shows the address of a calendar once, and imports holidays from one", async () => {
    const { page, errors } = await opened(`/bell-schedules?open=${ids.high}`);
    await page.getByRole("tab", { name: "Calendar subscriptions" }).click();
    await page.getByLabel("Subscriber").fill("Staff room");
    await page.getByRole("button", { name: "Create address" }).click();
    const address = await page.getByLabel("Subscription address").inputValue();
    expect(await (await fetch(address)).text()).toContain("BEGIN:VCALENDAR");
    await page.setInputFiles("input[type=file]", {
      ...{ name: "holidays.ics", mimeType: "text/calendar" },
      buffer: Buffer.from(HOLIDAYS),
    });
    await page.getByText("11 rings removed").waitFor();
    await page.getByRole("button", { name: "Import 1 exception" }).click();
    await page.getByText("1 exception imported.").waitFor();
    const { bellScheduleExceptions } = await api.get<{ bellScheduleExceptions: object[] }>(
      `/bell-schedules/${ids.high}`,
    );
    expect(bellScheduleExceptions).toMatchObject([{ description: "Founders’ day", ringListId: null }]);
    expect(errors).toEqual([]);
  });

  it("shows the next rings as they are planned by now, to who changes them and in other windows", async () => {
    const timeIn = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString().slice(11, 16);
    const [before, after] = [timeIn(20), timeIn(25)];
    const bell = await api.post<{ id: string }>("/message-templates", { name: "Evening bell", subject: "Bell" });
    const entries = [{ time: before, messageTemplateId: bell.id }];
    const list = await api.post<{ id: string }>("/ring-lists", { name: "Evening class", entries });
    const bellScheduleEntries = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId: list.id }));
    const days = { startDate: dayAt(Date.now() - DAY_MS), endDate: dayAt(Date.now() + 9 * DAY_MS), timeZone: "UTC" };
    await api.post("/bell-schedules", {
      ...{ name: "Evening school", numWeeks: 1, ...days, bellScheduleEntries },
    });
    const other = await openConsole(browser, daemon.url);
    const writer = await openConsole(browser, daemon.url);
    const shown = ({ page }: typeof other, time: string) =>
      page.locator("li", { hasText: "Evening school" }).getByText(time, { exact: true }).first().waitFor();
    for (const each of [other, writer]) {
      // What is looked at each minute is not waited for.
      await each.page.addInitScript(NEVER_EACH_MINUTE);
      await each.open("/");
      await shown(each, before);
    }
    await writer.page.locator("nav").getByRole("link", { name: "Bells" }).click();
    await writer.page.getByRole("link", { name: "Ring lists" }).click();
    await writer.page.getByRole("button", { name: "Evening class" }).click();
    await writer.page.getByLabel("Time").fill(after);
    await writer.page.getByRole("button", { name: "Save" }).click();
    await writer.page.getByText("Saved.").waitFor();
    await writer.page.locator("nav").getByRole("link", { name: "Dashboard" }).click();
    await Promise.all([shown(writer, after), shown(other, after)]);
    expect([...other.errors, ...writer.errors]).toEqual([]);
  });

  it("shows the next occurrence of a rule, and the next rings on the start page", async () => {
    const { page, open, errors } = await opened(`/clearings?open=${ids.clearing}`);
    const times = page.getByRole("region", { name: "Next times" }).getByRole("listitem");
    await times.nth(4).waitFor();
    await page.getByRole("checkbox", { name: "Mon" }).uncheck();
    await expect.poll(() => times.allInnerTexts()).not.toContainEqual(expect.stringMatching(/^Monday/));
    const written = page.getByLabel("Rule expression");
    await expect.poll(() => written.inputValue()).toBe("0 0 18 ? * TUE,WED,THU,FRI,SAT,SUN");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    // Every other hour of every day: whenever the test runs, five are next.
    const hours = Array.from({ length: 12 }, (_, at) => `${String(at * 2).padStart(2, "0")}:30`);
    const entries = hours.map((time) => ({ time, messageTemplateId: ids.first }));
    const list = await api.post<{ id: string }>("/ring-lists", { name: "Always", entries });
    await api.post("/bell-schedules", {
      ...{ name: "Night school", numWeeks: 1, startDate: dayAt(Date.now()), endDate: dayAt(Date.now() + 9 * DAY_MS) },
      ...{
        timeZone: "UTC",
        bellScheduleEntries: [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId: list.id })),
      },
    });
    await open("/");
    await expect.poll(() => page.locator(".countdown").count()).toBe(5);
    await expect.poll(() => page.locator("header .clock").innerText()).toMatch(/clock (synchronised|not)/);
    expect(errors).toEqual([]);
  });
});
