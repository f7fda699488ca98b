import { generateKeyPairSync, sign } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import { loadSettings } from "../../../src/settings/load-settings.ts";
import { sendControlCommand } from "../../../src/wiring/control-socket.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { runCommand } from "../cli/run-command.ts";

interface Activity {
  id: string;
  type: string;
  state: string;
  value: Record<string, unknown> | null;
}

let daemon: TestDaemon;
let activities: string;
const maker = generateKeyPairSync("ed25519");
const trusted = maker.publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("base64");
const settings = `network: {allowedTargets: [127.0.0.0/8], multicastInterface: 127.0.0.1}
trust: {licences: ["${trusted}"]}
`;

let restarts = 0;
const file = join(makeTempDir(), "carillon.yaml");

const onRestart = () => void restarts++;

async function finished(id: string): Promise<Activity> {
  for (;;) {
    const { body } = await daemon.call<Activity>("GET", `${activities}/${id}`);
    if (body.state !== "pending") return body;
  }
}

const order = async (type: string) => (await daemon.call<Activity>("POST", activities, { type })).body;

beforeAll(async () => {
  daemon = await startTestDaemon({
    onRestart,
    settings,
    settingsFile: { path: file, read: async () => loadSettings(file) },
  });
  activities = `/extensions/${ONPREM_EXTENSION_ID}/endpoints/${daemon.first.endpointId}/activities`;
});
afterAll(() => daemon.stop());

describe("orders to the appliance", () => {
  it("take a backup and collect the log, and say what became of it", async () => {
    const [backup, logs] = await Promise.all([order("backup"), order("collect-logs")]);
    const taken = await finished(backup.id);
    expect(taken).toMatchObject({ state: "success", value: { bytes: expect.any(Number), files: 1 } });
    expect(existsSync(String(taken.value?.file))).toBe(true);
    const collected = await finished(logs.id);
    expect(collected.state).toBe("success");
    expect(existsSync(String(collected.value?.file))).toBe(true);
  });

  it("about a link to a cloud fail where there is none, and so does an upgrade of what is not installed in versions", async () => {
    const kinds = ["device-sync", "full-resync", "replication-queue-reset", "replication-clean-up"];
    for (const kind of kinds) {
      const { state, value } = await finished((await order(kind)).id);
      expect([kind, state, value?.reason]).toEqual([kind, "fail", "Command not supported by this appliance."]);
    }
    const { state, value } = await finished((await order("upgrade")).id);
    expect([state, value?.reason]).toEqual(["fail", expect.stringContaining("not installed in versions")]);
  });

  it("are shown: what is proven, and which settings are in force", async () => {
    const { body: backups } = await daemon.call<{ provenFile: string; backups: { name: string }[] }>("GET", "/backups");
    expect(backups).toMatchObject({ schedule: "30 2 * * *", failedAt: null, failure: null });
    expect(backups.backups.map(({ name }) => backups.provenFile.endsWith(name))).toContain(true);
    type Settings = { file: string; fault: string | null; settings: { name: string; next: string | null }[] };
    writeFileSync(file, "backups: {keepDays: 9}\n");
    const { body } = await daemon.call<Settings>("GET", "/settings");
    expect(body).toMatchObject({ file, fault: null });
    const lines = body.settings.filter(({ name }) => name === "backups.keepDays" || name === "log.level");
    expect(lines).toMatchObject([
      { name: "log.level", value: '"info"', default: '"info"', next: null },
      { name: "backups.keepDays", value: "7", default: "7", next: "9" },
    ]);
    writeFileSync(file, "backup: {}\n");
    expect((await daemon.call<Settings>("GET", "/settings")).body.fault).toContain("backup");
    expect(await finished((await order("restart")).id)).toMatchObject({ state: "fail" });
    writeFileSync(file, "");
  });

  it("restart it: done once the next run is there", async () => {
    const { id } = await order("restart");
    while (restarts === 0) await daemon.call("GET", "/session");
    expect((await daemon.call<Activity>("GET", `${activities}/${id}`)).body.state).toBe("pending");
    await daemon.stop();
    daemon = await startTestDaemon({ after: daemon, onRestart, settings });
    expect((await finished(id)).state).toBe("success");
    expect(restarts).toBe(1);
  });
});

describe("a violated licence", () => {
  it("is told, and never keeps an emergency from any device", async () => {
    const payload = Buffer.from(
      JSON.stringify({
        id: "L",
        holder: "School",
        expiresAt: "2020-01-01T00:00:00Z",
        limits: { speakers: 1, users: 0 },
      }),
    );
    const signature = sign(null, payload, maker.privateKey).toString("base64");
    const document = JSON.stringify({ payload: payload.toString("base64"), signature });
    const { extensionId, endpointId } = daemon.first;
    for (const [at, zone] of ["zone:gym", "zone:hall", "zone:yard"].entries()) {
      const attributes = { Group: `239.1.2.${at + 1}`, Port: "20480" };
      const body = { type: "speakers", deviceIdentifier: zone, description: zone, attributes };
      await daemon.call("POST", `/extensions/${extensionId}/endpoints/${endpointId}/devices`, body);
    }
    await sendControlCommand(daemon.dataDir, { order: "licence.install", args: { document } });
    expect((await daemon.call<{ isLicenseValid: boolean }>("GET", "/session")).body.isLicenseValid).toBe(false);
    const group = await daemon.call<{ id: string }>("POST", "/device-groups", { name: "All", filterType: "ACCEPT" });
    const message = { subject: "Lockdown", alertTone: "chime", priority: "critical", deviceGroupIds: [group.body.id] };
    const sent = await daemon.call<{ id: string }>("POST", "/notifications", message);
    expect(sent.status).toBe(200);
    type Deliveries = { data: { level: string; endedAt: string | null }[] };
    for (;;) {
      const { body } = await daemon.call<Deliveries>("GET", `/notifications/${sent.body.id}/devices`);
      if (body.data.length < 3 || body.data.some(({ endedAt }) => endedAt === null)) continue;
      expect(body.data.map(({ level }) => level)).toEqual(["sent", "sent", "sent"]);
      break;
    }
    const { body: told } = await daemon.call<{ violations: string[] }>("GET", "/licence");
    expect(told.violations).toContain("3 speakers in use; the licence allows 1.");
    await sendControlCommand(daemon.dataDir, { order: "licence.remove", args: {} });
  });
});

describe("commands beside the running daemon", () => {
  it("say how it is", async () => {
    const { result } = (await sendControlCommand(daemon.dataDir, { order: "state", args: {} })) as { result: object };
    expect(result).toMatchObject({ url: daemon.url, status: "GREEN", reasons: [] });
    const { out } = await runCommand(["doctor", "--data", daemon.dataDir, "--json"]);
    const findings = JSON.parse(out[0] as string) as { check: string; state: string; found: string; next: string }[];
    expect(findings).toContainEqual(expect.objectContaining({ check: "Daemon", state: "good" }));
    // It was started at another address than the settings say.
    const address = findings.find(({ check }) => check === "Address");
    expect(address).toMatchObject({ found: "127.0.0.1:0 is reachable from this machine only", state: "warning" });
    expect(address?.next).toContain("--listen 0.0.0.0:0");
    const { exitCode } = await runCommand(["doctor", "--data", `${daemon.dataDir}/nothing`]);
    expect(exitCode).toBe(1);
  });

  it("take a backup through it, into any folder", async () => {
    const { exitCode, out, err } = await runCommand(["backup", "--data", daemon.dataDir, "--json"]);
    expect([exitCode, err]).toEqual([0, []]);
    expect(JSON.parse(out[0] as string)).toMatchObject({ faults: [] });
    expect(err.join("")).toBe("");
  });
});
