import { generateKeyPairSync } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { OfferedUpgrade } from "../../src/ops/upgrade/remote-upgrade.ts";
import { packUpgrade } from "../../src/ops/upgrade/upgrade-bundle.ts";
import { upgradeFilePath } from "../../src/ops/upgrade/upgrade-request.ts";
import { sendControlCommand } from "../../src/wiring/control-socket.ts";
import { type CuttableProxy, openCuttableProxy, pollUntil } from "../support/cuttable-proxy.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { makeTempDir } from "../support/temp-dir.ts";

/** All but a restart; what is not installed in versions is not upgraded. */
const ORDERS = [
  ...["device-sync", "phone-cache-rebuild", "backup", "collect-logs", "upgrade"],
  ...["replication-clean-up", "full-resync", "replication-queue-reset"],
];

const maker = generateKeyPairSync("ed25519");
const trusted = maker.publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("base64");
let hub: TestDaemon;
let site: TestDaemon;
let line: CuttableProxy;
let own: string;
let restarted: () => void = () => undefined;

async function make(at: TestDaemon, path: string, body: object, token?: string): Promise<string> {
  const made = await at.call<{ id: string }>("POST", path, body, token);
  expect([path, made.status, made.body]).toEqual([path, 200, made.body]);
  return made.body.id;
}

const nameAt = async (at: TestDaemon, path: string): Promise<unknown> => (await at.call("GET", path)).body.name;

/** Starts the appliance, on the data of an earlier run, and links it. */
async function start(after: TestDaemon): Promise<void> {
  site = await startTestDaemon({ after, onRestart: () => restarted() });
  await pollUntil(
    async () => site.cloudLink.report().mode,
    (mode) => mode === "cloud",
  );
}

beforeAll(async () => {
  hub = await startTestDaemon({ isHub: true, settings: `trust: {upgrades: ["${trusted}"]}` });
  line = await openCuttableProxy(hub.url);
  const alone = await startTestDaemon();
  await make(alone, "/users", { name: "Bob", type: "regular", email: "bob@example.org" });
  own = await make(alone, "/scheduled-notifications", {
    name: "Noon",
    schedule: "0 0 12 * * ?",
    timeZone: "Europe/Brussels",
    messageTemplateId: await make(alone, "/message-templates", { name: "Noon", subject: "Noon" }),
  });
  const { code } = (await hub.cloudLink.hub?.createEnrolmentCode({ endpoint: null, domainIds: null })) ?? { code: "" };
  await alone.cloudLink.site?.enrol({ hub: line.url, code, mode: "join", authority: null });
  await alone.stop();
  await start(alone);
}, 120_000);
afterAll(async () => {
  await site?.stop();
  line?.end();
  await hub?.stop();
});

/** Lays a signed version ready at the cloud. */
async function offerVersion(): Promise<OfferedUpgrade> {
  const [folder, file] = [makeTempDir(), join(makeTempDir(), "carillon.tgz")];
  writeFileSync(join(folder, "package.json"), JSON.stringify({ version: "9.9.9" }));
  await packUpgrade(folder, maker.privateKey.export({ type: "pkcs8", format: "pem" }).toString(), file);
  return (await sendControlCommand(hub.dataDir, { order: "upgrade.offer", args: { file } }))?.result as OfferedUpgrade;
}

const orderPath = (): string => `/extensions/${site.first.extensionId}/endpoints/${site.first.endpointId}/activities`;
const order = (type: string): Promise<string> => make(hub, orderPath(), { type });
const state = async (id: string): Promise<unknown> => (await hub.call("GET", `${orderPath()}/${id}`)).body.state;
const ends = (id: string): Promise<unknown> =>
  pollUntil(
    () => state(id),
    (found) => found !== "pending",
  );

describe("an appliance that joined an organisation", () => {
  it("keeps its rows local, renamed and switched off, and its administrator's access", async () => {
    expect((await site.call("GET", `/scheduled-notifications/${own}`)).body).toMatchObject({
      ...{ name: "Noon (site)", disabled: true },
    });
    const people = (await site.call<{ data: { name: string; isLocked: boolean }[] }>("GET", "/users?limit=10")).body;
    const bob = people.data.find(({ name }) => name.startsWith("Bob"));
    expect([bob?.isLocked, (await site.call("GET", "/session")).status]).toEqual([true, 200]);
    expect((await hub.call("GET", `/scheduled-notifications/${own}`)).status).toBe(404);
  });

  it("carries out orders that are given in the cloud, and says of each what became of it", async () => {
    const { sha256 } = await offerVersion();
    const given = await Promise.all(ORDERS.map(async (type) => [type, await order(type)] as const));
    const outcomes = Object.fromEntries(await Promise.all(given.map(async ([type, id]) => [type, await ends(id)])));
    const all = Object.fromEntries(ORDERS.map((type) => [type, "success"]));
    expect(outcomes).toEqual({ ...all, upgrade: "fail" });
    const [, upgrade = ""] = given.find(([type]) => type === "upgrade") ?? [];
    const { value } = (await hub.call<{ value: object }>("GET", `${orderPath()}/${upgrade}`)).body;
    expect(value).toMatchObject({
      version: "9.9.9",
      sha256,
      reason: expect.stringContaining("not installed in versions"),
    });
    const came = async (): Promise<boolean> => existsSync(upgradeFilePath(site.dataDir, sha256) as string);
    expect(await pollUntil(came, Boolean)).toBe(true);
  });

  it("is upgraded in batches with others, which stop at the first failure; the cloud shows which and why", async () => {
    interface Upgrade {
      id: string;
      state: string;
      reason: string | null;
    }
    expect((await site.call("POST", "/appliance-upgrades", {})).status).toBe(404);
    const wrong = await hub.call("POST", "/appliance-upgrades", { endpointIds: [hub.first.endpointId] });
    expect(wrong.status).toBe(400);
    const begun = await hub.call<Upgrade>("POST", "/appliance-upgrades", { timeLimit: 30 });
    expect([begun.status, begun.body]).toEqual([200, expect.objectContaining({ state: "running", version: "9.9.9" })]);
    const at = `/appliance-upgrades/${begun.body.id}`;
    expect((await hub.call("POST", "/appliance-upgrades", {})).status).toBe(409);
    const now = await pollUntil(
      async () => (await hub.call<Upgrade>("GET", at)).body,
      ({ state }) => state !== "running",
    );
    expect(now).toMatchObject({ state: "stopped", counts: { failed: 1, waiting: 0 }, wave: 1 });
    expect(now?.reason).toContain("not installed in versions");
    const { body } = await hub.call<{ data: object[] }>("GET", `${at}/turns`);
    expect(body.data).toMatchObject([{ state: "failed", endpointId: site.first.endpointId, wave: 1 }]);
    expect((await hub.call("POST", `${at}/pause`, {})).status).toBe(409);
    expect((await hub.call<Upgrade>("POST", `${at}/cancel`, {})).body.state).toBe("cancelled");
  });

  it("restarts on command, and confirms it", async () => {
    const restarting = new Promise<void>((resolve) => {
      restarted = resolve;
    });
    const restart = await order("restart");
    await restarting;
    expect(await state(restart)).toBe("pending");
    await site.stop();
    await start(site);
    expect(await ends(restart)).toBe("success");
  });

  it("changes users and permissions in the cloud only; offline it can only lock a user", async () => {
    const { token } = hub.first;
    await pollUntil(
      async () => (await site.call("GET", "/session", undefined, token)).status,
      (status) => status === 200,
    );
    const made = await make(site, "/users", { name: "Ada", type: "regular", email: "ada@example.org" }, token);
    const user = `/users/${made}`;
    expect([await nameAt(hub, user), await nameAt(site, user)]).toEqual(["Ada", "Ada"]);
    const twice = await site.call("POST", "/users", { name: "Ada", type: "regular", email: "ada@example.org" }, token);
    expect(twice.status).toBe(409);
    line.cut();
    await pollUntil(
      async () => site.cloudLink.report().mode,
      (mode) => mode === "solo",
    );
    const locked = await site.call("PUT", user, { lock: { start: "2026-01-01T00:00:00.000Z" } });
    const renamed = await site.call("PUT", user, { name: "Eve" });
    expect([locked.status, renamed.status, renamed.body.message]).toEqual([200, 503, expect.stringContaining("cloud")]);
    await line.heal();
    const isLocked = async (): Promise<unknown> => (await hub.call("GET", user)).body.isLocked;
    expect(await pollUntil(isLocked, (found) => found === true)).toBe(true);
  });

  it("is notified, and reports, that its key was revoked", async () => {
    await hub.cloudLink.hub?.revoke(site.first.endpointId);
    const link = async (): Promise<unknown> => site.cloudLink.report().link?.state;
    expect(await pollUntil(link, (found) => found === "refused")).toBe("refused");
  });

  it("brings what it wrote since it left when it comes back with its rows", async () => {
    expect((await site.call("DELETE", "/link")).status).toBe(204);
    const shed = await make(site, "/sites", { name: "Shed" });
    expect((await site.call("GET", "/link")).body).toMatchObject({ hub: null, state: "none", unsentRows: 0 });
    const { code } = (await hub.cloudLink.hub?.createEnrolmentCode({ endpoint: null, domainIds: null })) ?? {
      code: "",
    };
    await site.cloudLink.site?.enrol({ hub: line.url, code, mode: "adopt", authority: null });
    await site.stop();
    await start(site);
    const named = () => nameAt(hub, `/sites/${shed}`);
    expect(await pollUntil(named, (name) => name === "Shed")).toBe("Shed");
  });
});
