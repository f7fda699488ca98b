import { afterEach, describe, expect, it } from "vitest";
import { runCarillon } from "../support/carillon-process.ts";
import { pollUntil } from "../support/cuttable-proxy.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

interface Difference {
  resource: string;
  rowId: string;
  name: string | null;
  kind: string;
  reason: string | null;
}

interface InitialSync {
  mode: string;
  state: string;
  waitsFor: string | null;
  checkedAt: string | null;
  finishedAt: string | null;
  types: { resource: string; before: number; cloudBefore: number; here: number; cloud: number; isEqual: boolean }[];
  differences: Difference[];
  more: number;
}

const running: TestDaemon[] = [];

async function startHub(): Promise<TestDaemon> {
  const hub = await startTestDaemon({ isHub: true });
  running.push(hub);
  return hub;
}

afterEach(async () => {
  for (const daemon of running.splice(0).reverse()) await daemon.stop();
});

async function make(at: TestDaemon, path: string, body: object): Promise<string> {
  const made = await at.call<{ id: string }>("POST", path, body);
  expect([path, made.status, made.body]).toEqual([path, 200, made.body]);
  return made.body.id;
}

/** A daemon with rows, which then enters the organisation. */
async function enrol(
  hub: TestDaemon,
  mode: "adopt" | "join",
  prepare: (alone: TestDaemon) => Promise<void>,
): Promise<TestDaemon> {
  const alone = await startTestDaemon();
  await prepare(alone);
  const { code } = (await hub.cloudLink.hub?.createEnrolmentCode({ endpoint: null, domainIds: null })) ?? { code: "" };
  await alone.cloudLink.site?.enrol({ hub: hub.url, code, mode, authority: null });
  await alone.stop();
  const site = await startTestDaemon({ after: alone });
  running.push(site);
  return site;
}

const initialSync = async (site: TestDaemon): Promise<InitialSync | null> =>
  (await site.call<{ initialSync: InitialSync | null }>("GET", "/link")).body.initialSync;

const finished = (site: TestDaemon): Promise<InitialSync | null> =>
  pollUntil(
    () => initialSync(site),
    (found) => found?.state === "complete" || found?.state === "differs",
  );

const of = (found: InitialSync | null, resource: string) => found?.types.find((each) => each.resource === resource);

describe("the first sync of an appliance", () => {
  it("ends when both sides have the same rows, and says how many of each type", async () => {
    const hub = await startHub();
    const first = await enrol(hub, "adopt", async (alone) => {
      for (const name of ["Annex", "Gym", "Yard"]) await make(alone, "/sites", { name });
      await make(alone, "/device-groups", { name: "Canteen" });
    });
    const adopted = await finished(first);
    expect([adopted?.mode, adopted?.state, adopted?.differences, adopted?.more]).toEqual(["adopt", "complete", [], 0]);
    expect(adopted?.types.filter(({ isEqual }) => !isEqual)).toEqual([]);
    expect(of(adopted, "sites")).toMatchObject({ before: 3, cloudBefore: 0, here: 3, cloud: 3 });
    expect(of(adopted, "device-groups")).toMatchObject({ before: 1, here: 1, cloud: 1 });
    expect([adopted?.waitsFor, adopted?.finishedAt !== null]).toEqual([null, true]);
    const second = await enrol(hub, "join", async (alone) => {
      await make(alone, "/sites", { name: "Annex" });
    });
    const joined = await finished(second);
    expect([joined?.mode, joined?.state, joined?.differences]).toEqual(["join", "complete", []]);
    // Its own site stays local, under another name.
    expect(of(joined, "sites")).toMatchObject({ before: 1, cloudBefore: 3, here: 3, cloud: 3, isEqual: true });
    const sites = (await second.call<{ data: { name: string }[] }>("GET", "/sites")).body.data;
    expect(sites.map(({ name }) => name).sort()).toEqual(["Annex", "Annex (site)", "Gym", "Yard"]);
  });

  it("keeps rows that the cloud refuses, names them, and ends once the cause is gone", async () => {
    const hub = await startHub();
    const other = await make(hub, "/sites", { name: "Lodge", externalId: "A-1" });
    let ids: string[] = [];
    const site = await enrol(hub, "adopt", async (alone) => {
      const annex = await make(alone, "/sites", { name: "Annex", externalId: "A-1" });
      ids = [annex, await make(alone, `/sites/${annex}/buildings`, { name: "North wing" })];
    });
    const [annex = "", wing = ""] = ids;
    const differs = await finished(site);
    expect([differs?.state, differs?.finishedAt]).toEqual(["differs", null]);
    const conflicts = (reason: string) => ({ resource: "sites", reason: expect.stringContaining(reason) });
    expect(differs?.differences).toMatchObject([
      { ...conflicts("another row of the cloud"), rowId: annex, name: "Annex", kind: "only-here" },
      { ...conflicts("another row here"), rowId: other, name: null, kind: "only-cloud" },
    ]);
    const wait = 'the cloud to take over buildings "North wing", which refers to sites "Annex"';
    expect(differs?.waitsFor).toBe(wait);
    const { appliances } = (await hub.call<{ appliances: Record<string, unknown>[] }>("GET", "/link/appliances")).body;
    const reason = `\`siteId\` refers to sites/${annex}, which does not exist in the cloud.`;
    const waits = [{ resource: "buildings", rowId: wing, reason }];
    expect(appliances.find(({ endpointId }) => endpointId === site.first.endpointId)).toMatchObject({
      ...{ waitingRows: 1, waits },
    });
    const [here, there] = await Promise.all(
      [site, hub].map(({ dataDir }) => runCarillon(["link", "status", "--data", dataDir])),
    );
    expect(here?.stdout).toContain(`differs: sites "Annex" ${annex}: only-here: The row conflicts`);
    expect(there?.stdout).toMatch(
      new RegExp(`^linked  .+  ${site.first.endpointId} since .+: .*1 row waits here`, "m"),
    );
    expect(there?.stdout).toContain(`waits: buildings ${wing}: ${reason}`);
    // Neither was deleted here.
    for (const [path, name] of [
      [`/sites/${annex}`, "Annex"],
      [`/sites/${annex}/buildings/${wing}`, "North wing"],
    ])
      expect((await site.call("GET", path ?? "")).body.name).toBe(name);
    const level = site.cloudLink.site?.healthReasons().find(({ code }) => code === "link:initial-sync")?.level;
    expect(level).toBe("red");
    await hub.call("PUT", `/sites/${other}`, { externalId: "A-2" });
    expect((await site.call("POST", "/link/initial-sync", { action: "retry" })).body).toEqual({ rows: 1 });
    await pollUntil(
      () => initialSync(site),
      (found) => found?.state === "complete",
    );
    expect((await hub.call("GET", `/sites/${annex}/buildings/${wing}`)).body.name).toBe("North wing");
    expect((await site.call("POST", "/link/initial-sync", { action: "accept" })).status).toBe(409);
  });
});
