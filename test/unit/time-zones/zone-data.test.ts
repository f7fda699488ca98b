import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { createTimeZones, DEFAULT_CLOCK_RULES } from "../../../src/time-zones/time-zones.ts";
import {
  canonicalZoneName,
  describeSource,
  openZoneData,
  watchZoneData,
  zoneDataReasons,
} from "../../../src/time-zones/zone-data.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import {
  encodeTzif,
  NEWER_VERSION,
  VANCOUVER_2025,
  VANCOUVER_2026,
  writeZoneFolder,
} from "../../support/tzif-files.ts";

const NODE_VERSION = process.versions.tz ?? "";
const LOCAL = Date.parse("2026-12-01T08:00:00Z");

let folder: string;
let installedFolder: string;
beforeEach(() => {
  [folder, installedFolder] = [join(makeTempDir(), "zoneinfo"), join(makeTempDir(), "time-zones")];
});

const install = (version: string, zones: Record<string, Buffer>, links: Record<string, string> = {}): void => {
  const encoded = Object.fromEntries(Object.entries(zones).map(([name, bytes]) => [name, bytes.toString("base64")]));
  mkdirSync(installedFolder, { recursive: true });
  writeFileSync(join(installedFolder, "zones.json"), JSON.stringify({ version, zones: encoded, links }));
};
const open = () => openZoneData({ folder, installedFolder });
const vancouver = (data = open()): string =>
  new Date(createTimeZones(data).of("America/Vancouver").instantOf(LOCAL, DEFAULT_CLOCK_RULES) ?? 0).toISOString();

describe("the choice of time zone data", () => {
  it("takes the newest source", () => {
    writeZoneFolder(folder, "2019a", { "America/Vancouver": VANCOUVER_2026 });
    expect(describeSource(open())).toBe(`${NODE_VERSION} (node)`);
    writeZoneFolder(folder, NEWER_VERSION, { "America/Vancouver": VANCOUVER_2026 });
    expect([describeSource(open()), vancouver()]).toEqual([`${NEWER_VERSION} (machine)`, "2026-12-01T15:00:00.000Z"]);
    install("2098c", { "America/Vancouver": VANCOUVER_2025 });
    expect([describeSource(open()), vancouver()]).toEqual(["2098c (installed)", "2026-12-01T16:00:00.000Z"]);
    install("2098a", { "America/Vancouver": VANCOUVER_2025 });
    expect(describeSource(open())).toBe(`${NEWER_VERSION} (machine)`);
  });

  it("prefers files of the same version to Node, and Node to an unknown version", () => {
    writeZoneFolder(folder, NODE_VERSION, {});
    expect(describeSource(open())).toBe(`${NODE_VERSION} (machine)`);
    rmSync(join(folder, "tzdata.zi"));
    expect(describeSource(open())).toBe(`${NODE_VERSION} (node)`);
    writeFileSync(join(folder, "+VERSION"), `${NEWER_VERSION}\n`);
    expect(describeSource(open())).toBe(`${NEWER_VERSION} (machine)`);
  });

  it("finds a name that the newest source lacks in the next one", () => {
    writeZoneFolder(folder, NEWER_VERSION, {});
    expect(open().zone("Europe/Berlin")?.offset(Date.parse("2026-07-01T00:00:00Z"))).toBe(120);
    expect(open().zone("Mars/Olympus")).toBeNull();
  });

  it("follows the links of the database for old names that are not installed", () => {
    writeZoneFolder(folder, NEWER_VERSION, { "America/Vancouver": VANCOUVER_2026 });
    writeFileSync(join(folder, "tzdata.zi"), `# version ${NEWER_VERSION}\nL America/Vancouver Canada/Pacific\n`);
    expect(open().zone("Canada/Pacific")?.offset(LOCAL)).toBe(-420);
    install("2098c", { "America/Vancouver": VANCOUVER_2025 }, { "Canada/Pacific": "America/Vancouver" });
    expect(open().zone("Canada/Pacific")?.offset(LOCAL)).toBe(-480);
  });

  it("uses the next source for a damaged file and reports it", () => {
    writeZoneFolder(folder, NEWER_VERSION, { "Europe/Berlin": Buffer.from("damaged") });
    const data = open();
    expect(data.zone("Europe/Berlin")?.offset(Date.parse("2026-07-01T00:00:00Z"))).toBe(120);
    expect(data.problems()).toEqual(["Europe/Berlin of the time zone data of the machine is damaged: truncated."]);
    expect(zoneDataReasons(data, LOCAL)).toMatchObject([{ level: "yellow", code: "time-zones-unusable" }]);
    mkdirSync(installedFolder, { recursive: true });
    writeFileSync(join(installedFolder, "zones.json"), "{}");
    expect(open().problems()).toEqual(["The installed time zone data are unusable: not a time zone document."]);
  });

  it("reports data without any release of the last year", () => {
    writeZoneFolder(folder, NEWER_VERSION, {});
    expect(zoneDataReasons(open(), Date.parse("2099-12-31T00:00:00Z"))).toEqual([]);
    expect(zoneDataReasons(open(), Date.parse("2100-01-01T00:00:00Z"))).toMatchObject([{ code: "time-zones-old" }]);
  });

  it("never leaves its folder", () => {
    writeZoneFolder(folder, NEWER_VERSION, {});
    writeFileSync(join(folder, "..", "Outside"), encodeTzif({ first: 7_200 }));
    for (const name of ["../Outside", "/etc/localtime", "Etc/../../Outside", "Etc//UTC", "", ".", "Etc"])
      expect([name, open().zone(name)?.offset(0) ?? null]).toEqual([name, null]);
  });

  it("works without the machine's database, and with a link as the folder", () => {
    expect(describeSource(open())).toBe(`${NODE_VERSION} (node)`);
    const target = join(makeTempDir(), "real");
    writeZoneFolder(target, NEWER_VERSION, {});
    symlinkSync(target, folder);
    expect(describeSource(open())).toBe(`${NEWER_VERSION} (machine)`);
  });
});

describe("names", () => {
  it("are found in any case, with the meaning that schedules expect", () => {
    expect(
      ["Europe/Berlin", "europe/berlin", "US/PACIFIC", "EST", "Nowhere/None", "../x"].map(canonicalZoneName),
    ).toEqual([...["Europe/Berlin", "Europe/Berlin", "US/Pacific", "Etc/GMT+5", null, null]]);
  });
});

describe("a watched source", () => {
  it("is read again within a minute once its files have settled", async () => {
    const clock = createFakeClock();
    writeZoneFolder(folder, "2019a", {});
    const data = watchZoneData({ folder, installedFolder }, { clock, log: silentLog });
    const zones = createTimeZones(data);
    let changes = 0;
    data.onChange(() => changes++);
    data.start();
    const before = zones.of("America/Vancouver");
    await clock.advance(60_000);
    expect([changes, zones.of("America/Vancouver")]).toEqual([0, before]);
    writeZoneFolder(folder, NEWER_VERSION, { "America/Vancouver": VANCOUVER_2026 });
    await clock.advance(60_000);
    expect([changes, data.revision, vancouver(data)]).toEqual([1, 1, "2026-12-01T15:00:00.000Z"]);
    // A new build of the same version counts, too.
    writeZoneFolder(folder, NEWER_VERSION, { "America/Vancouver": VANCOUVER_2025 });
    await clock.advance(60_000);
    expect(vancouver(data)).toBe("2026-12-01T16:00:00.000Z");
    install("2098c", { "America/Vancouver": VANCOUVER_2026 });
    await clock.advance(60_000);
    expect(vancouver(data)).toBe("2026-12-01T15:00:00.000Z");
    data.stop();
    expect(clock.pendingTimers()).toBe(0);
  });
});
