import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSecrets, readKeyFile } from "../../src/store/secrets.ts";
import { pollUntil } from "../support/cuttable-proxy.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

let hub: TestDaemon;
let east: TestDaemon;
let west: TestDaemon;
let templateId: string;

async function make(at: TestDaemon, path: string, body: object): Promise<string> {
  const made = await at.call<{ id: string }>("POST", path, body);
  expect([path, made.status, made.body]).toEqual([path, 200, made.body]);
  return made.body.id;
}

async function enrolled(): Promise<TestDaemon> {
  const alone = await startTestDaemon();
  const { body } = await hub.call<{ code: string }>("POST", "/link/codes", {});
  await alone.cloudLink.site?.enrol({ hub: hub.url, code: body.code, mode: "join", authority: null });
  await alone.stop();
  const site = await startTestDaemon({ after: alone });
  await pollUntil(
    async () => site.cloudLink.report().link?.state,
    (state) => state === "connected",
  );
  return site;
}

const lockdown = (more: object = {}): object => ({
  ...{ name: "Lockdown", type: "standard", backgroundColor: "#b01d24" },
  messages: [{ name: "All", messageTemplateId: templateId }],
  ...{ confirmationType: "pin", confirmationPin: "2468" },
  ...more,
});

const start = async (at: TestDaemon, scenarioId: string, confirmationPin: string): Promise<unknown> => {
  const { status, body } = await at.call("POST", "/scenario-notifications", {
    scenarioId,
    confirmationPin,
    drill: true,
  });
  return status === 200 ? 200 : JSON.stringify(body);
};

/** Without a PIN a scenario does not start, and no attempt is counted. */
const startsAt = (at: TestDaemon, id: string, pin: string) =>
  pollUntil(
    () => start(at, id, pin),
    (status) => status === 200,
  );

const named = (at: TestDaemon, path: string, name: string) =>
  pollUntil(
    async () => (await at.call("GET", path)).body.name,
    (found) => found === name,
  );

/** Runs SQL on the data of a daemon that was stopped. */
function inData(at: TestDaemon, sql: string, ...values: string[]): unknown {
  const db = new Database(join(at.dataDir, "carillon.db"));
  try {
    const statement = db.prepare(sql);
    return statement.reader ? statement.pluck().get(values) : statement.run(values);
  } finally {
    db.close();
  }
}

const HASH = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/;

beforeAll(async () => {
  hub = await startTestDaemon({ isHub: true });
  east = await enrolled();
  west = await enrolled();
  const group = await make(hub, "/device-groups", { name: "All rooms" });
  templateId = await make(hub, "/message-templates", { name: "Lock", subject: "Lock", deviceGroupIds: [group] });
}, 120_000);
afterAll(async () => {
  for (const at of [east, west, hub]) await at?.stop();
});

describe("PINs", () => {
  it("start a scenario of the cloud at every appliance, and a wrong one nowhere", async () => {
    const id = await make(hub, "/scenarios", lockdown());
    for (const at of [hub, east, west]) {
      await named(at, `/scenarios/${id}`, "Lockdown");
      expect(await start(at, id, "1357")).toContain("Wrong PIN");
      expect(await start(at, id, "2468")).toBe(200);
    }
  });

  it("stay valid without new input when the scenario is renamed elsewhere", async () => {
    const id = await make(hub, "/scenarios", lockdown({ name: "Fire" }));
    await named(east, `/scenarios/${id}`, "Fire");
    expect((await east.call("PUT", `/scenarios/${id}`, { name: "Fire drill" })).status).toBe(200);
    for (const at of [hub, west]) {
      await named(at, `/scenarios/${id}`, "Fire drill");
      expect(await start(at, id, "2468")).toBe(200);
    }
  });

  it("are valid in the cloud and at the others when one appliance changes them", async () => {
    const id = await make(hub, "/scenarios", lockdown({ name: "Storm" }));
    await named(west, `/scenarios/${id}`, "Storm");
    const change = { name: "Heavy storm", confirmationPin: "97531" };
    expect((await west.call("PUT", `/scenarios/${id}`, change)).status).toBe(200);
    for (const at of [hub, east]) {
      await named(at, `/scenarios/${id}`, "Heavy storm");
      expect(await start(at, id, "2468")).toContain("Wrong PIN");
      expect(await start(at, id, "97531")).toBe(200);
    }
  });

  it("are removed everywhere when removed from a number to dial", async () => {
    const path = "/dialcast-dialing-configurations";
    const rule = { name: "Page", type: "NOTIFICATION", dialingPatternRegex: "7\\d\\d", messageTemplateId: templateId };
    const id = await make(east, path, { ...rule, pin: "4711" });
    const isLocked = (at: TestDaemon, expected: boolean) =>
      pollUntil(
        async () => (await at.call("GET", `${path}/${id}`)).body.authenticationEnabled,
        (found) => found === expected,
      );
    for (const at of [hub, west]) expect(await isLocked(at, true)).toBe(true);
    await hub.call("PUT", `${path}/${id}`, { pin: null });
    for (const at of [east, west]) expect(await isLocked(at, false)).toBe(false);
  });

  it("are never returned, nor their hashes", async () => {
    const id = await make(hub, "/scenarios", lockdown({ name: "Quiet" }));
    await named(east, `/scenarios/${id}`, "Quiet");
    await east.call("PUT", `/scenarios/${id}`, { name: "Very quiet", confirmationPin: "11223" });
    await named(hub, `/scenarios/${id}`, "Very quiet");
    for (const at of [hub, east]) {
      for (const path of [`/scenarios/${id}`, "/link/conflicts", "/audit?limit=100"]) {
        const { status, body } = await at.call("GET", path);
        expect([path, status]).toEqual([path, 200]);
        expect(JSON.stringify(body)).not.toMatch(/argon2id|11223|"2468"/);
      }
    }
  });
});

describe("PINs that an earlier release stored", () => {
  /** Stores the PIN as release 0.1.0 did: encrypted with the key of one side, and not replicated. */
  function storeEncrypted(at: TestDaemon, id: string, pin: string): void {
    const sealed = createSecrets(readKeyFile(join(at.dataDir, "secret-key"))).seal(pin);
    inData(at, "UPDATE scenarios SET confirmation_pin = ? WHERE id = ?", sealed, id);
  }
  const forget = (at: TestDaemon, id: string): void =>
    void inData(at, "UPDATE scenarios SET confirmation_pin = NULL WHERE id = ?", id);
  const storedPin = (at: TestDaemon, id: string): unknown =>
    inData(at, "SELECT confirmation_pin FROM scenarios WHERE id = ?", id);

  it("stay valid after an upgrade, and are sent to the sides that lack them", async () => {
    const [ofCloud, ofEast] = [
      await make(hub, "/scenarios", lockdown({ name: "Of the cloud" })),
      await make(hub, "/scenarios", lockdown({ name: "Of the east" })),
    ];
    for (const at of [east, west]) await named(at, `/scenarios/${ofEast}`, "Of the east");
    const listen = new URL(hub.url).host;
    for (const at of [east, hub]) await at.stop();
    storeEncrypted(hub, ofCloud, "8642");
    forget(east, ofCloud);
    storeEncrypted(east, ofEast, "9753");
    forget(hub, ofEast);
    hub = await startTestDaemon({ after: hub, isHub: true, listen });
    // The cloud sends this row without a PIN before the appliance hashes its own.
    const renamed = await hub.call("PUT", `/scenarios/${ofEast}`, { name: "Of the far east" });
    expect(renamed.status).toBe(200);
    await named(west, `/scenarios/${ofEast}`, "Of the far east");
    expect(await start(west, ofEast, "9753")).toContain("not known here");
    east = await startTestDaemon({ after: east });
    for (const at of [east, hub, west]) {
      expect(await startsAt(at, ofEast, "9753")).toBe(200);
      expect(await startsAt(at, ofCloud, "8642")).toBe(200);
    }
    expect((await east.call("GET", "/link/conflicts")).body).toMatchObject({ conflicts: [] });
    await east.stop();
    for (const id of [ofCloud, ofEast]) expect(storedPin(east, id)).toMatch(HASH);
  });
});
