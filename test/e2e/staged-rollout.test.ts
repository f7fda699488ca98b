import { readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { daemonStateOf } from "../../src/cli/doctor.ts";
import { productVersion } from "../../src/lib/product-version.ts";
import { packUpgrade } from "../../src/ops/upgrade/upgrade-bundle.ts";
import { sendControlCommand } from "../../src/wiring/control-socket.ts";
import { pollUntil } from "../support/cuttable-proxy.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import {
  fakeSystemd,
  type InstalledAppliance,
  installAppliance,
  type SystemdUnits,
} from "../support/installed-appliance.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { copyVersion, createVersionSigner } from "../support/version-builder.ts";

interface Site extends InstalledAppliance {
  dataDir: string;
  endpointId: string;
}

interface Upgrade {
  id: string;
  state: string;
  reason: string | null;
  counts: Record<string, number>;
}

/** This product, which carries the upgrade out and takes backups back, and a later version. */
const [OLD, NEW] = [productVersion(), "0.3.0"];
/** What the new version can't bear lies here, in the folder of the installation. */
const ILLNESS = "full-disk";
const { pem, trusted } = createVersionSigner();
const sites: Site[] = [];
let hub: TestDaemon;
let units: SystemdUnits;

/** An appliance of the organisation, started as it is installed. */
async function install(name: string): Promise<Site> {
  const settings = `trust: {upgrades: ["${trusted}"]}\nnetwork: {allowedTargets: [127.0.0.0/8], multicastInterface: 127.0.0.1}\n`;
  const { code } = (await hub.cloudLink.hub?.createEnrolmentCode({ endpoint: null, domainIds: null })) ?? { code: "" };
  const alone = await startTestDaemon();
  await alone.cloudLink.site?.enrol({ hub: hub.url, code, mode: "join", authority: null });
  await alone.stop();
  const { dataDir, first } = alone;
  const installed = installAppliance(name, units, { dataDir, version: OLD, settings, trusted });
  return { ...installed, dataDir, endpointId: first.endpointId };
}

/** A signed version that ends at once where the illness is. */
async function makeVersion(): Promise<string> {
  const folder = copyVersion(join(makeTempDir(), "carillon"), NEW);
  const [main, whole] = ["main.js", "whole.js"].map((name) => join(folder, "dist/src", name)) as [string, string];
  renameSync(main, whole);
  const looks = `existsSync(new URL("../../../../${ILLNESS}", import.meta.url))`;
  writeFileSync(
    main,
    `import { existsSync } from "node:fs";\nif (${looks}) process.exit(1);\nawait import("./whole.js");\n`,
  );
  const bundle = join(makeTempDir(), "carillon.tgz");
  await packUpgrade(folder, pem, bundle);
  return bundle;
}

const running = () => Promise.all(sites.map(async ({ dataDir }) => (await daemonStateOf(dataDir))?.version ?? null));
const upgradeAt = async (id: string) => (await hub.call<Upgrade>("GET", `/appliance-upgrades/${id}`)).body;
async function turnsOf(id: string): Promise<string[]> {
  const { data } = (
    await hub.call<{ data: { state: string; endpointId: string; wave: number | null }[] }>(
      "GET",
      `/appliance-upgrades/${id}/turns`,
    )
  ).body;
  return sites.map(({ endpointId }) => {
    const turn = data.find((each) => each.endpointId === endpointId);
    return `${turn?.state} ${turn?.wave}`;
  });
}

beforeAll(async () => {
  hub = await startTestDaemon({ isHub: true, settings: `trust: {upgrades: ["${trusted}"]}` });
  units = await fakeSystemd();
  for (const name of ["north", "east", "south"]) sites.push(await install(name));
  const file = await makeVersion();
  const offered = await sendControlCommand(hub.dataDir, { order: "upgrade.offer", args: { file } });
  expect(offered?.result).toMatchObject({ version: NEW });
  await pollUntil(running, (versions) => versions.every((version) => version === OLD));
}, 300_000);
afterAll(async () => {
  await Promise.all(sites.map((site) => site.stop()));
  units?.end();
  await hub?.stop();
}, 60_000);

it("upgrades all appliances in batches, stops at an unhealthy one, and resumes after it is repaired", async () => {
  const [north, east, south] = sites as [Site, Site, Site];
  writeFileSync(join(east.root, ILLNESS), "");
  const untouched = south.pid();
  const endpointIds = sites.map(({ endpointId }) => endpointId);
  const waves = { firstWave: 1, waveSize: 1, growth: 2, timeLimit: 60, steadyTime: 1 };
  const { status, body } = await hub.call<Upgrade>("POST", "/appliance-upgrades", { endpointIds, ...waves });
  expect([status, body]).toEqual([200, expect.objectContaining({ state: "running" })]);

  await pollUntil(
    () => turnsOf(body.id),
    ([first]) => first === "done 1",
  );
  const stopped = await pollUntil(
    () => upgradeAt(body.id),
    ({ state }) => state !== "running",
  );
  expect([stopped.state, stopped.reason]).toEqual([
    "stopped",
    expect.stringContaining(`${NEW} did not become healthy: rolled back to ${OLD}`),
  ]);
  expect(await turnsOf(body.id)).toEqual(["done 1", "failed 2", "waiting null"]);
  expect(await running()).toEqual([NEW, OLD, OLD]);
  expect([south.pid(), south.upgradeLog, readdirSync(join(south.root, "versions"))]).toEqual([untouched, [], [OLD]]);

  const upgraded = north.pid();
  rmSync(join(east.root, ILLNESS));
  expect((await hub.call("POST", `/appliance-upgrades/${body.id}/resume`, {})).status).toBe(200);
  await pollUntil(
    () => turnsOf(body.id),
    (turns) => turns.includes("done 3"),
  );
  const complete = await pollUntil(
    () => upgradeAt(body.id),
    ({ state }) => state !== "running",
  );
  expect([complete.state, complete.reason]).toEqual(["complete", null]);
  expect(await turnsOf(body.id)).toEqual(["done 1", "done 3", "done 3"]);
  expect([await running(), sites.map((site) => site.installed())]).toEqual([
    [NEW, NEW, NEW],
    [NEW, NEW, NEW],
  ]);
  expect(north.pid()).toBe(upgraded);
}, 300_000);
