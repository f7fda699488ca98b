import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { startBrowser } from "../support/browser.ts";
import { LOOPBACK_SETTINGS } from "../support/carillon-process.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { eventually } from "../support/timeouts.ts";
import { VANCOUVER_2025, VANCOUVER_2026, writeZoneFolder } from "../support/tzif-files.ts";

const { describe, it } = externalProgram("chromium");

/** The evening before a school day on which the old rules and the new ones differ by an hour. */
const EVENING = Date.parse("2026-12-01T04:00:00Z");
const started = Date.now();
const clock: Clock = { ...systemClock, now: () => EVENING + Date.now() - started };
const folder = join(makeTempDir(), "zoneinfo");

let browser: Browser;
let daemon: TestDaemon;
beforeAll(async () => {
  writeZoneFolder(folder, "2098a", { "America/Vancouver": VANCOUVER_2025 });
  const settings = `${LOOPBACK_SETTINGS}\ntimeZones:\n  folder: ${folder}\n`;
  [browser, daemon] = await Promise.all([startBrowser(), startTestDaemon({ settings, clock })]);
  const make = async (path: string, body: object): Promise<string> =>
    (await daemon.call<{ id: string }>("POST", path, body)).body.id;
  const messageTemplateId = await make("/message-templates", { name: "Bell", subject: "Bell" });
  const ringListId = await make("/ring-lists", { name: "Day", entries: [{ time: "08:00:00", messageTemplateId }] });
  const bellScheduleEntries = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId }));
  const span = { startDate: "2026-11-01", endDate: "2026-12-20", numWeeks: 1, bellScheduleEntries };
  await make("/bell-schedules", { name: "Vancouver school", timeZone: "America/Vancouver", ...span });
});
afterAll(async () => {
  await browser.close();
  await daemon.stop();
});

describe("time zone data in the console", () => {
  it("name the source in use, and after new data arrived the rings that they moved", async () => {
    const { page, open, axe, errors } = await openConsole(browser, daemon.url);
    await open("/time-zone-data");
    const inUse = page.getByRole("listitem").filter({ hasText: "in use" });
    expect(await inUse.innerText()).toContain("2098a");
    await page.getByText("New data have not changed the rules of your bells yet.").waitFor();

    writeZoneFolder(folder, "2098b", { "America/Vancouver": VANCOUVER_2026 });
    await eventually(async () => {
      const { body } = await daemon.call<{ changes: unknown[] }>("GET", "/time-zone-data");
      return body.changes.length > 0;
    });
    await open("/time-zone-data");
    expect(await inUse.innerText()).toContain("2098b");
    const change = page.getByRole("region", { name: "2098a (machine) → 2098b (machine)" });
    const words = await change.innerText();
    expect(words).toContain("America/Vancouver: UTC -07:00 instead of UTC -08:00");
    expect(words).toContain("20 rings in 1 schedule moved. Their local time stays the same.");
    const [first] = await change.getByRole("row").filter({ hasText: "Vancouver school" }).allInnerTexts();
    expect(first?.replace(/\s+/g, " ")).toBe(
      "Vancouver school Dec 1, 2026, 08:00 (America/Vancouver) Dec 1, 2026, 4:00 PM Dec 1, 2026, 3:00 PM",
    );
    expect([...(await axe()), ...errors]).toEqual([]);
  });
});
