import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "tar";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { EXIT } from "../../src/lib/exit-codes.ts";
import { ONPREM_EXTENSION_ID } from "../../src/resources/devices/on-premises-extension.ts";
import { LOOPBACK_SETTINGS } from "../support/carillon-process.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { eventually } from "../support/timeouts.ts";
import { encodeTzif, VANCOUVER_2025, VANCOUVER_2026, writeZoneFolder } from "../support/tzif-files.ts";
import { runCommand } from "../unit/cli/run-command.ts";

/** The evening before a school day on which the old rules and the new ones differ by an hour. */
const EVENING = Date.parse("2026-12-01T04:00:00Z");
const started = Date.now();
const clock: Clock = { ...systemClock, now: () => EVENING + Date.now() - started };

const folder = join(makeTempDir(), "zoneinfo");
const settings = `${LOOPBACK_SETTINGS}\ntimeZones:\n  folder: ${folder}\n`;
const lines: Record<string, unknown>[] = [];
let daemon: TestDaemon;
let schedule: string;
let berlin: string;

const make = async (path: string, body: object): Promise<string> => {
  const { status, body: row } = await daemon.call<{ id: string }>("POST", path, body);
  expect([status, row]).toEqual([200, expect.anything()]);
  return row.id;
};
const ringsOf = async (id: string): Promise<string[]> => {
  const query = "from=2026-12-01T00:00:00Z&to=2026-12-02T12:00:00Z";
  const { body } = await daemon.call<{ data: { at: string; localTime: string }[] }>(
    "GET",
    `/bell-schedules/${id}/rings?${query}`,
  );
  return body.data.map(({ at, localTime }) => `${localTime} ${at}`);
};
const plannedOf = async (): Promise<string[]> => {
  const { body } = await daemon.call<{ data: { at: string; bellSchedule: { id: string } }[] }>(
    "GET",
    "/bell-rings?limit=50",
  );
  return body.data.filter(({ bellSchedule }) => bellSchedule.id === schedule).map(({ at }) => at);
};
const endpoint = async () => {
  const path = `/extensions/${ONPREM_EXTENSION_ID}/endpoints`;
  const { body } = await daemon.call<{ data: Record<string, never>[] }>("GET", path);
  return body.data[0] as { id: string; clock: Record<string, unknown>; yellowReasons: string[] } | undefined;
};

beforeAll(async () => {
  writeZoneFolder(folder, "2098a", { "America/Vancouver": VANCOUVER_2025 });
  daemon = await startTestDaemon({ settings, clock, onLog: (line) => lines.push(JSON.parse(line)) });
  const messageTemplateId = await make("/message-templates", { name: "Bell", subject: "Bell" });
  const ringListId = await make("/ring-lists", { name: "Day", entries: [{ time: "08:00:00", messageTemplateId }] });
  const days = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId }));
  const span = { startDate: "2026-11-01", endDate: "2027-06-30", numWeeks: 1, bellScheduleEntries: days };
  schedule = await make("/bell-schedules", { name: "Vancouver school", timeZone: "America/Vancouver", ...span });
  berlin = await make("/bell-schedules", { name: "Berlin school", timeZone: "Europe/Berlin", ...span });
});
afterAll(() => daemon.stop());

describe("new time zone data of the machine", () => {
  it("moves the bells of a zone within a minute, without a restart, and names them", async () => {
    expect(await ringsOf(schedule)).toEqual(["08:00:00 2026-12-01T16:00:00.000Z"]);
    expect((await plannedOf())[0]).toBe("2026-12-01T16:00:00.000Z");
    const berlinBefore = await ringsOf(berlin);
    const writtenAt = Date.now();
    writeZoneFolder(folder, "2098b", { "America/Vancouver": VANCOUVER_2026 });
    await eventually(async () => (await plannedOf())[0] === "2026-12-01T15:00:00.000Z");
    expect(Date.now() - writtenAt).toBeLessThan(60_000);
    expect(await ringsOf(schedule)).toEqual(["08:00:00 2026-12-01T15:00:00.000Z"]);
    expect(await ringsOf(berlin)).toEqual(berlinBefore);

    await eventually(async () => ((await endpoint())?.yellowReasons ?? []).some((text) => text.includes("2098b")));
    const own = await endpoint();
    expect(own?.clock).toMatchObject({ timeZoneVersion: "2098b", timeZoneSource: "machine" });
    expect(own?.yellowReasons).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /^Time zone data 2098b \(machine\) changes the rules of America\/Vancouver: \d+ rings move in 1 schedule, the first on 2026-12-01 at 08:00 in America\/Vancouver \(2026-12-01T15:00:00.000Z instead of 2026-12-01T16:00:00.000Z\)\.$/,
        ),
      ]),
    );
    const { body } = await daemon.call<{ data: { type: string; value: Record<string, unknown> }[] }>(
      "GET",
      `/extensions/${ONPREM_EXTENSION_ID}/endpoints/${own?.id}/activities`,
    );
    expect(body.data.map(({ value }) => value)).toContainEqual(
      expect.objectContaining({
        ...{ before: "2098a (machine)", now: "2098b (machine)" },
        zones: [{ name: "America/Vancouver", from: expect.any(String), before: "-08:00", now: "-07:00" }],
        moved: expect.objectContaining({ schedules: 1 }),
      }),
    );
    expect(lines.map(({ event }) => event)).toEqual(
      expect.arrayContaining(["time_zones.loaded", "bell.time_zones_changed", "bell.rings_moved"]),
    );
  });

  it("are applied at the next start if they arrived while the appliance was off", async () => {
    await daemon.stop();
    writeZoneFolder(folder, "2098c", { "America/Vancouver": VANCOUVER_2025 });
    daemon = await startTestDaemon({ settings, clock, after: daemon });
    await eventually(async () => (await plannedOf())[0] === "2026-12-01T16:00:00.000Z");
    await eventually(async () => ((await endpoint())?.yellowReasons ?? []).some((text) => text.includes("2098c")));
  });

  it("are installed by carillon tz install; status and doctor name all sources", async () => {
    const [work, config] = [makeTempDir(), join(makeTempDir(), "carillon.yaml")];
    writeFileSync(config, settings);
    const fixed = (hours: number) => encodeTzif({ first: hours * 3_600 });
    writeZoneFolder(join(work, "zoneinfo"), "2098d", {
      ...{ "America/New_York": fixed(-5), "Asia/Tokyo": fixed(9), "Europe/Berlin": fixed(1) },
      "America/Vancouver": VANCOUVER_2026,
    });
    const file = join(work, "zoneinfo.tgz");
    await create({ file, cwd: work, gzip: true }, ["zoneinfo"]);
    const carillon = (...argv: string[]) => runCommand([...argv, "--data", daemon.dataDir, "--config", config], {});
    expect(await carillon("tz", "install", file)).toMatchObject({ exitCode: EXIT.usage });
    const sha256 = createHash("sha256").update(readFileSync(file)).digest("hex");
    const { exitCode, out } = await carillon("tz", "install", file, "--sha256", sha256);
    expect([exitCode, out]).toEqual([EXIT.ok, ["2098d is installed; in use: 2098d (installed)."]]);
    await eventually(async () => (await plannedOf())[0] === "2026-12-01T15:00:00.000Z");
    await eventually(async () => (await carillon("tz", "status")).out.join().includes("Time zone data 2098d"));
    const status = (await carillon("tz", "status")).out;
    expect(status[0]).toMatch(/^installed +2098d +in use/);
    expect(status).toContainEqual(expect.stringMatching(/^machine +2098c +other rules for 1 zone,/));
    const doctor = JSON.parse((await carillon("doctor", "--json")).out[0] ?? "[]") as {
      check: string;
      found: string;
    }[];
    expect(doctor.find(({ check }) => check === "Time zones")?.found).toMatch(
      /^2098d of installed, since \d+ days, in use.*; 2098c of machine, since \d+ days \(other rules for America\/Vancouver\)/,
    );
  });
});
