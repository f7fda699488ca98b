import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

/** The evening before a school day. */
const EVENING = Date.parse("2026-12-01T20:00:00Z");
const started = Date.now();
const clock: Clock = { ...systemClock, now: () => EVENING + Date.now() - started };

/** Days off as the district publishes them; null for a server that has lost its calendar. */
let published: readonly string[] | null = [];
let server: Server;
let browser: Browser;
let daemon: TestDaemon;
beforeAll(async () => {
  server = createServer((_request, response) => {
    if (!published) return void response.writeHead(404).end("gone");
    const events = published.map(
      (day) => `BEGIN:VEVENT\r\nUID:${day}\r\nSUMMARY:Off\r\nDTSTART;VALUE=DATE:${day}\r\nEND:VEVENT\r\n`,
    );
    response.end(`BEGIN:VCALENDAR\r\nVERSION:2.0\r\n${events.join("")}END:VCALENDAR\r\n`);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  [browser, daemon] = await Promise.all([startBrowser(), startTestDaemon({ clock })]);
  const make = async (path: string, body: object): Promise<string> =>
    (await daemon.call<{ id: string }>("POST", path, body)).body.id;
  const messageTemplateId = await make("/message-templates", { name: "Bell", subject: "Bell" });
  const ringListId = await make("/ring-lists", { name: "Day", entries: [{ time: "08:00:00", messageTemplateId }] });
  await make("/bell-schedules", {
    ...{ name: "Upper school", timeZone: "Europe/Berlin", numWeeks: 1, startDate: "2026-11-01", endDate: "2027-06-30" },
    bellScheduleEntries: [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId })),
  });
});
afterAll(async () => {
  await browser.close();
  await daemon.stop();
  await new Promise((done) => server.close(done));
});

interface Reported {
  status: string;
  yellowReasons: string[];
}

/** Health reasons that name the calendar. */
async function healthReasons(): Promise<string[]> {
  const { extensionId, endpointId } = daemon.first;
  const { body } = await daemon.call<Reported>("GET", `/extensions/${extensionId}/endpoints/${endpointId}`);
  return body.yellowReasons.filter((reason) => reason.includes("District"));
}

/** Days on which the schedule does not ring. */
async function daysOff(): Promise<string[]> {
  const { body } = await daemon.call<{ data: { bellScheduleExceptions: { startDate: string }[] }[] }>(
    "GET",
    "/bell-schedules",
  );
  return body.data[0]?.bellScheduleExceptions.map(({ startDate }) => startDate) ?? [];
}

describe("a subscribed calendar in the console", () => {
  it("silences far days at once, near ones after a confirmation, and none when the calendar shrinks or is gone", async () => {
    const { page, open, axe, errors } = await openConsole(browser, daemon.url);
    const state = page.getByRole("region", { name: "State of the calendar" });
    const fetchNow = async (days: readonly string[] | null): Promise<void> => {
      published = days;
      await page.getByRole("button", { name: "Fetch now" }).click();
    };
    const holidays = ["20261221", "20261222", "20261223"];
    published = holidays;

    await open("/subscribed-calendars?open=new");
    await page.getByLabel("Name").fill("District");
    await page
      .getByLabel("Address")
      .fill(`http://127.0.0.1:${(server.address() as AddressInfo).port}/days.ics?key=secret`);
    await page.getByRole("combobox", { name: "Schedules" }).fill("Upper");
    await page.getByRole("option", { name: "Upper school" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    const row = page.getByRole("row").filter({ hasText: "District" });
    await row.getByText("Up to date").waitFor();
    expect(await daysOff()).toEqual(["2026-12-21"]);
    expect(await healthReasons()).toEqual([]);

    await row.click();
    await fetchNow([...holidays, "20261202"]);
    await state.getByText("Changes wait for your confirmation").waitFor();
    for (const text of ["Added: Dec 2, 2026 Off", "1 bell is silent", "Dec 2, 2026, 08:00"])
      await state.getByText(text, { exact: true }).waitFor();
    expect(await healthReasons()).toEqual([
      "The calendar District waits for confirmation: 1 bell would be silent within 24 hours, first on 2026-12-02 (Off). Confirm the change.",
    ]);
    expect(await daysOff()).toEqual(["2026-12-21"]);
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: "Confirm the changes" }).click();
    await expect.poll(daysOff).toEqual(["2026-12-02", "2026-12-21"]);
    await expect.poll(healthReasons).toEqual([]);

    await fetchNow(["20261202"]);
    await state.getByText("Changes wait for your confirmation").waitFor();
    await state.getByText("Removed: Dec 21, 2026 – Dec 23, 2026 Off").waitFor();
    expect(await healthReasons()).toEqual([expect.stringContaining("drops 3 of 4 coming days; the limit is 30 %")]);
    expect(await daysOff()).toEqual(["2026-12-02", "2026-12-21"]);

    await fetchNow(null);
    await expect.poll(async () => await state.innerText()).toContain("404");
    expect(await healthReasons()).toEqual([expect.stringContaining("its last days still apply")]);
    expect(await daysOff()).toEqual(["2026-12-02", "2026-12-21"]);
    expect(await page.content()).not.toContain("key=secret");
    expect(errors).toEqual([]);
  });
});
