import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { createCronScheduler } from "../../../src/time-zones/cron-schedule.ts";
import { createTimeZones } from "../../../src/time-zones/time-zones.ts";
import { watchZoneData } from "../../../src/time-zones/zone-data.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import {
  encodeTzif,
  NEWER_VERSION,
  VANCOUVER_2025,
  VANCOUVER_2026,
  writeZoneFolder,
} from "../../support/tzif-files.ts";

const HOUR_MS = 3_600_000;
const BERLIN = encodeTzif({ first: 3_600, footer: "CET-1CEST,M3.5.0,M10.5.0/3" });

/** Counts the runs of an expression; `zone` may change. */
function openScene(expression: string, startIso: string, zone = "Europe/Berlin") {
  const folder = join(makeTempDir(), "zoneinfo");
  writeZoneFolder(folder, NEWER_VERSION, { "Europe/Berlin": BERLIN, "America/Vancouver": VANCOUVER_2025 });
  const clock: FakeClock = createFakeClock(Date.parse(startIso));
  const data = watchZoneData({ folder, installedFolder: null }, { clock, log: silentLog });
  const site = { zone };
  const runs: string[] = [];
  const schedule = createCronScheduler({ clock, zones: createTimeZones(data), ownZone: () => site.zone });
  const stop = schedule(expression, () => runs.push(new Date(clock.now()).toISOString().slice(0, 19)));
  return { clock, data, folder, site, runs, stop };
}

describe("a cron schedule", () => {
  it("follows the local time of the appliance across changes of the clocks", async () => {
    const { clock, runs, stop } = openScene("30 2 * * *", "2027-03-26T12:00:00Z");
    await clock.advance(72 * HOUR_MS);
    // On 28 March 02:30 is skipped: the run is at the end of the gap.
    expect(runs).toEqual(["2027-03-27T01:30:00", "2027-03-28T01:00:00", "2027-03-29T00:30:00"]);
    stop();
    expect(clock.pendingTimers()).toBe(0);
  });

  it("runs once in a repeated hour", async () => {
    const { clock, runs } = openScene("30 2 * * *", "2027-10-30T12:00:00Z");
    await clock.advance(24 * HOUR_MS);
    expect(runs).toEqual(["2027-10-31T00:30:00"]);
  });

  it("needs both the day of the month and the day of the week", async () => {
    const { clock, runs } = openScene("0 12 1 * 1", "2027-01-15T00:00:00Z");
    await clock.advance(31 * 24 * HOUR_MS);
    expect(runs).toEqual(["2027-02-01T11:00:00"]);
  });

  it("takes Quartz expressions, with Sunday as the first day", async () => {
    const { clock, runs } = openScene("0 30 2 ? * 2", "2027-01-15T00:00:00Z");
    await clock.advance(7 * 24 * HOUR_MS);
    expect(runs).toEqual(["2027-01-18T01:30:00"]);
  });

  it("follows a new zone and new rules without a restart", async () => {
    const { clock, data, folder, site, runs } = openScene("0 8 * * *", "2026-12-01T00:00:00Z");
    site.zone = "America/Vancouver";
    await clock.advance(24 * HOUR_MS);
    writeZoneFolder(folder, "2098c", { "America/Vancouver": VANCOUVER_2026 });
    data.poll();
    await clock.advance(24 * HOUR_MS);
    expect(runs).toEqual(["2026-12-01T16:00:00", "2026-12-02T15:00:00"]);
  });

  it("skips runs that a suspended machine missed, and none after the clock was set back", async () => {
    const { clock, runs } = openScene("0 8 * * *", "2027-01-15T06:00:00Z");
    clock.stepWallClock(3 * HOUR_MS);
    await clock.advance(HOUR_MS);
    expect(runs).toEqual([]);
    clock.stepWallClock(-4 * HOUR_MS);
    await clock.advance(2 * HOUR_MS);
    expect(runs).toEqual(["2027-01-15T07:00:00"]);
  });
});
