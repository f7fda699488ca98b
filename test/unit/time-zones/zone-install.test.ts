import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "tar";
import { beforeEach, describe, expect, it } from "vitest";
import { signedPayload } from "../../../src/lib/signed-document.ts";
import { describeSource, openZoneData } from "../../../src/time-zones/zone-data.ts";
import { installZones, readZoneFile, readZoneFolder } from "../../../src/time-zones/zone-install.ts";
import { externalProgram } from "../../support/external-programs.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { encodeTzif, NEWER_VERSION, VANCOUVER_2026, writeZoneFolder } from "../../support/tzif-files.ts";

const NOW = Date.parse("2026-11-26T12:00:00Z");
const LOCAL = Date.parse("2026-12-01T16:00:00Z");
const CORE = Object.fromEntries(
  ["America/New_York", "Asia/Tokyo", "Europe/Berlin"].map((name, hours) => [
    name,
    encodeTzif({ first: hours * 3_600, footer: `<+0${hours}>-${hours}` }),
  ]),
);

let work: string;
beforeEach(() => {
  work = makeTempDir();
});

const hashOf = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");

/** A .tar.gz of a folder `zoneinfo` with these zones. */
async function archive(zones: Record<string, Buffer>, prepare: (folder: string) => void = () => undefined) {
  const folder = join(work, "zoneinfo");
  writeZoneFolder(folder, NEWER_VERSION, zones);
  prepare(folder);
  const file = join(work, "zoneinfo.tgz");
  await create({ file, cwd: work, gzip: true }, ["zoneinfo"]);
  return file;
}

const install = async (file: string, proof: Partial<Parameters<typeof readZoneFile>[1]> = {}) => {
  const document = await readZoneFile(file, { sha256: hashOf(file), keys: [], ...proof });
  installZones(join(work, "time-zones"), document, NOW);
  return openZoneData({ folder: join(work, "none"), installedFolder: join(work, "time-zones") });
};

describe("installing time zone data", () => {
  it("takes an archive of compiled zones by its SHA-256, with links of any kind", async () => {
    const file = await archive(
      { ...CORE, "America/Vancouver": VANCOUVER_2026, "Canada/Pacific": VANCOUVER_2026 },
      (folder) => {
        mkdirSync(join(folder, "US"));
        symlinkSync("../America/Vancouver", join(folder, "US", "Pacific"));
        mkdirSync(join(folder, "right", "America"), { recursive: true });
        writeFileSync(join(folder, "right", "America", "Vancouver"), encodeTzif({ first: 0, leapSeconds: 27 }));
      },
    );
    const data = await install(file);
    expect(describeSource(data)).toBe(`${NEWER_VERSION} (installed)`);
    for (const name of ["America/Vancouver", "Canada/Pacific", "US/Pacific"])
      expect([name, data.zone(name)?.offset(LOCAL)]).toEqual([name, -420]);
    expect(data.problems()).toEqual([]);
  });

  it("takes a document that a trusted key signed", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const { x = "" } = publicKey.export({ format: "jwk" });
    const key = Buffer.from(x, "base64url").toString("base64");
    const folder = join(work, "zoneinfo");
    writeZoneFolder(folder, NEWER_VERSION, { ...CORE, "America/Vancouver": VANCOUVER_2026 });
    const payload = signedPayload("time-zones", readZoneFolder(folder));
    const file = join(work, "zones.json");
    const signature = sign(null, payload, privateKey).toString("base64");
    writeFileSync(file, JSON.stringify({ payload: payload.toString("base64"), signature }));
    expect((await install(file, { sha256: null, keys: [key] })).zone("America/Vancouver")?.offset(LOCAL)).toBe(-420);
    const other = Buffer.alloc(32, 7).toString("base64");
    await expect(install(file, { sha256: null, keys: [other] })).rejects.toThrow("not signed with a trusted key");
    await expect(install(file, { sha256: null })).rejects.toThrow("No trusted key");
  });

  it("rejects unsigned, damaged and other files, and keeps the installed data", async () => {
    await install(await archive({ ...CORE, "America/Vancouver": VANCOUVER_2026 }));
    const installed = readFileSync(join(work, "time-zones", "zones.json"));
    const bad: [string, Record<string, Buffer>, { sha256?: string | null }][] = [
      ["not signed", CORE, { sha256: null }],
      ["Does not match the file", CORE, { sha256: "ab".repeat(32) }],
      ["Europe/Berlin: truncated", { ...CORE, "Europe/Berlin": Buffer.from("TZif2") }, {}],
      ["leap seconds", { ...CORE, "Europe/Berlin": encodeTzif({ first: 0, leapSeconds: 1 }) }, {}],
    ];
    for (const [message, zones, proof] of bad)
      await expect(install(await archive(zones), proof)).rejects.toThrow(message);
    const text = join(work, "text");
    writeFileSync(text, "no archive");
    await expect(install(text)).rejects.toThrow("not a readable .tar.gz archive");
    await expect(install(join(work, "missing"))).rejects.toThrow();
    expect(readFileSync(join(work, "time-zones", "zones.json"))).toEqual(installed);
  });

  it("refuses a database without the large zones, or without a version", async () => {
    const { "Asia/Tokyo": tokyo, ...others } = CORE;
    expect(tokyo).toBeDefined();
    await expect(install(await archive(others))).rejects.toThrow("Asia/Tokyo is missing");
    writeZoneFolder(join(work, "unnamed"), "none", CORE);
    expect(() => readZoneFolder(join(work, "unnamed"))).toThrow("does not name its version");
  });

  it("reads nothing outside an archive", async () => {
    const file = await archive(CORE, (folder) =>
      symlinkSync("/usr/share/zoneinfo/Asia/Tokyo", join(folder, "Outside")),
    );
    const data = await install(file);
    expect(JSON.parse(readFileSync(join(work, "time-zones", "zones.json"), "utf8")).links.Outside).toBeUndefined();
    expect(data.zone("Outside")).toBeNull();
  });
});

externalProgram("zic").describe("an archive of the database's sources", () => {
  it("is compiled by zic", async () => {
    const files = ["africa", "antarctica", "asia", "australasia", "europe", "southamerica", "etcetera"];
    for (const name of files) writeFileSync(join(work, name), "# empty\n");
    writeFileSync(join(work, "europe"), "Zone Europe/Berlin 1:00 - CET\n");
    writeFileSync(join(work, "asia"), "Zone Asia/Tokyo 9:00 - JST\n");
    writeFileSync(join(work, "etcetera"), "Zone Etc/UTC 0 - UTC\n");
    writeFileSync(
      join(work, "northamerica"),
      "Zone America/New_York -5:00 - EST\nZone America/Vancouver -8:00 - PST 2026 Mar 8 2:00\n -7:00 - MST\n",
    );
    writeFileSync(join(work, "backward"), "Link America/Vancouver Canada/Pacific\n");
    writeFileSync(join(work, "version"), `${NEWER_VERSION}\n`);
    const file = join(work, "tzdata.tar.gz");
    await create({ file, cwd: work, gzip: true }, [...files, "northamerica", "backward", "version"]);
    const data = await install(file);
    expect(describeSource(data)).toBe(`${NEWER_VERSION} (installed)`);
    expect([data.zone("Canada/Pacific")?.offset(LOCAL), data.zone("Asia/Tokyo")?.offset(LOCAL)]).toEqual([-420, 540]);
    expect(existsSync(join(work, "time-zones", "zones.json.new"))).toBe(false);
  });
});
