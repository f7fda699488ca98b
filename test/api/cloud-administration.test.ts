import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { packUpgrade } from "../../src/ops/upgrade/upgrade-bundle.ts";
import { ALARM_IDS } from "../../src/resources/alarms/alarm-types.ts";
import { sendControlCommand } from "../../src/wiring/control-socket.ts";
import { prepareFirstRun } from "../../src/wiring/first-run.ts";
import { readSetupCode } from "../../src/wiring/setup-code.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { UNKNOWN_ID } from "../support/sample-values.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ContractBody, createContractClient } from "./contract-client.ts";

const maker = generateKeyPairSync("ed25519");
const trusted = maker.publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("base64");

describe("the cloud and a new appliance", () => {
  let hub: TestDaemon;
  let site: TestDaemon;
  beforeAll(async () => {
    [hub, site] = await Promise.all([
      startTestDaemon({ isHub: true, settings: `trust: {upgrades: ["${trusted}"]}` }),
      startTestDaemon(),
    ]);
  });
  afterAll(async () => {
    await Promise.all([site?.stop(), hub?.stop()]);
  });

  it("enrols the appliance by a one-time code", async () => {
    const { code } = (await hub.call<{ code: string }>("POST", "/link/codes", {})).body;
    const refused = [
      await site.call("POST", "/link", { code }),
      await site.call("POST", "/link", { hub: hub.url }),
      await site.call("POST", "/link", { hub: hub.url, code, mode: "both" }),
      await site.call("POST", "/link", { hub: hub.url, code: "X" }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 502]);
    const enrolled = await site.call("POST", "/link", { hub: hub.url, code });
    expect([enrolled.status, enrolled.body]).toEqual([200, { endpointId: site.first.endpointId }]);
    await site.stop();
    site = await startTestDaemon({ after: site });
    const known = async () =>
      (await hub.call<{ appliances: ContractBody[] }>("GET", "/link/appliances")).body.appliances;
    await expect.poll(known).toMatchObject([{ endpointId: site.first.endpointId }]);
    expect((await site.call("POST", "/link", { hub: hub.url, code })).status).toBe(502);
  });

  it("binds the appliance to domains by its code or later, and does not widen them on re-enrolment", async () => {
    const { domainId: root, endpointId } = site.first;
    const north = (await hub.call<{ id: string }>("POST", "/domains", { name: "North" })).body.id;
    const bound = async (): Promise<unknown> => {
      const { body } = await hub.call<{ appliances: ContractBody[] }>("GET", "/link/appliances");
      return body.appliances.find((each) => each.endpointId === endpointId)?.domainIds;
    };
    const at = `/link/appliances/${endpointId}`;
    expect(await bound()).toBeNull();
    for (const domainIds of [[UNKNOWN_ID], [], "north"]) {
      expect((await hub.call("PUT", at, { domainIds })).status).toBe(400);
      expect((await hub.call("POST", "/link/codes", { domainIds })).status).toBe(400);
    }
    expect((await hub.call("PUT", `/link/appliances/${UNKNOWN_ID}`, { domainIds: [north] })).status).toBe(404);
    expect((await site.call("PUT", at, { domainIds: null })).status).toBeGreaterThanOrEqual(400);
    expect((await hub.call("PUT", at, { domainIds: [north, north] })).status).toBe(204);
    expect(await bound()).toEqual([north]);
    const { code } = (await hub.call<{ code: string }>("POST", "/link/codes", { endpointId })).body;
    expect((await site.call("POST", "/link", { hub: hub.url, code })).status).toBe(200);
    await site.stop();
    site = await startTestDaemon({ after: site });
    expect(await bound()).toEqual([north]);
    const args = { domains: [north], endpoint: endpointId };
    await sendControlCommand(hub.dataDir, { order: "link.code", args });
    const open = await hub.call<{ codes: ContractBody[] }>("GET", "/link/codes");
    expect(open.body.codes).toMatchObject([{ endpointId, domainIds: [north] }]);
    await hub.call("DELETE", `/link/codes/${open.body.codes[0]?.id}`);
    // The root domain is the whole organisation.
    const wide = hub.first.domainId ?? root;
    expect((await hub.call("PUT", at, { domainIds: [wide] })).status).toBe(204);
    expect(await bound()).toBeNull();
  });

  it("pauses, resumes and ends upgrades on request", async () => {
    expect((await hub.call("POST", "/appliance-upgrades", {})).status).toBe(409);
    const [folder, file] = [makeTempDir(), join(makeTempDir(), "carillon.tgz")];
    writeFileSync(join(folder, "package.json"), JSON.stringify({ version: "9.9.9" }));
    await packUpgrade(folder, maker.privateKey.export({ type: "pkcs8", format: "pem" }).toString(), file);
    await sendControlCommand(hub.dataDir, { order: "upgrade.offer", args: { file } });
    // Whoever is not connected is waited for.
    await site.stop();
    const begun = await hub.call<ContractBody>("POST", "/appliance-upgrades", { timeLimit: 1_440 });
    expect([begun.status, begun.body]).toEqual([200, expect.objectContaining({ state: "running", version: "9.9.9" })]);
    const at = `/appliance-upgrades/${begun.body.id}`;
    const eve = (await hub.call<ContractBody>("POST", "/users", { name: "Eve", email: "eve@example.org" })).body;
    const { token } = (await hub.call<ContractBody>("POST", `/users/${eve.id}/tokens`, { name: "t" })).body;
    for (const [word, state] of [
      ["pause", "paused"],
      ["resume", "running"],
      ["cancel", "cancelled"],
    ] as const) {
      expect([403, 404]).toContain((await hub.call("POST", `${at}/${word}`, {}, token)).status);
      expect((await hub.call("POST", `/appliance-upgrades/${UNKNOWN_ID}/${word}`, {})).status).toBe(404);
      const done = await hub.call("POST", `${at}/${word}`, {});
      expect([word, done.status, done.body.state]).toEqual([word, 200, state]);
    }
    expect((await hub.call("POST", `${at}/pause`, {})).status).toBe(409);
  });
});

it("creates the first administrator of a new appliance once, with the code", async () => {
  const dataDir = makeTempDir();
  await prepareFirstRun(dataDir, systemClock);
  const daemon = await startTestDaemon({ after: { dataDir, first: {} as TestDaemon["first"] } });
  const setUp = async (given: object) => {
    const headers = { "content-type": "application/json", origin: daemon.url };
    const sent = { method: "POST", headers, body: JSON.stringify(given) };
    const { status, headers: said } = await fetch(`${daemon.url}/api/setup`, sent);
    return { status, cookie: said.get("set-cookie") };
  };
  try {
    const admin = { email: "head@example.org", password: "correct horse battery", code: readSetupCode(dataDir) };
    expect((await setUp({ ...admin, code: "00000-00000" })).status).toBe(401);
    expect((await setUp({ ...admin, password: "short" })).status).toBe(400);
    const { status, cookie } = await setUp(admin);
    expect([status, cookie]).toEqual([204, expect.stringMatching(/HttpOnly/i)]);
    expect((await setUp(admin)).status).toBe(409);
  } finally {
    await daemon.stop();
  }
});

describe("an alarm that people may say is over", () => {
  let daemon: TestDaemon;
  const { call, create } = createContractClient(() => daemon);
  beforeAll(async () => {
    daemon = await startTestDaemon();
  });
  afterAll(() => daemon.stop());

  it("becomes OK, and emits an event", async () => {
    const at = `/alarms/${ALARM_IDS.scenario_device_resolution_failed}`;
    const messageTemplateId = (await create("/message-templates", { name: "Fire", subject: "Fire" })).id;
    const messages = [{ name: "First", messageTemplateId }];
    const scenario = await create("/scenarios", {
      name: "Fire",
      type: "standard",
      backgroundColor: "#aa0000",
      messages,
    });
    const initiationDevice = { type: "api-device", lookupValue: "nobody" };
    await call("POST", "/scenario-notifications", { scenarioId: scenario.id, initiationDevice });
    await expect.poll(async () => (await call("GET", at)).body.status).toBe("ACTIVE");
    expect((await call("POST", `${at}/events`, { status: "ACTIVE" })).status).toBe(400);
    const told = await call("POST", `${at}/events`, { status: "OK" });
    expect([told.status, told.body]).toEqual([
      200,
      expect.objectContaining({ status: "OK", event: expect.any(Object) }),
    ]);
    expect((await call("GET", at)).body.status).toBe("OK");
    expect((await call("POST", `${at}/events`, { status: "OK" })).status).toBe(409);
  });
});
