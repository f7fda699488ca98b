import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { ONPREM_EXTENSION_ID } from "../../src/resources/devices/on-premises-extension.ts";
import { parseSimulatorOptions, type SimulatorOptions } from "../../src/tools/simulator/options.ts";
import { type Simulator, startSimulator } from "../../src/tools/simulator/simulator.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { type Ran, runCommand } from "../unit/cli/run-command.ts";

interface Check {
  server: string | null;
  file: string | null;
  configuration: Record<string, unknown> | null;
  problems: { code: string; severity: string; words: string; wordsSentence: { code: string } | null }[];
}

let daemon: TestDaemon;
let simulator: Simulator;
let cluster: string;
let authUrl: string;
const phones: { id: string; name: string }[] = [];

beforeAll(async () => {
  simulator = await startSimulator(parseSimulatorOptions(["--phones", "4"]) as SimulatorOptions, systemClock);
  daemon = await startTestDaemon();
  authUrl = daemon.urls["ip-phones/auth"] as string;
  await control("/auth-url", { url: authUrl });
  for (const { type, deviceIdentifier, description, attributes } of simulator.devices) {
    const device = { endpointId: daemon.first.endpointId, type, deviceIdentifier, description, attributes };
    const path = `/extensions/${ONPREM_EXTENSION_ID}/devices`;
    phones.push({ id: await make(path, device), name: deviceIdentifier });
  }
}, 120_000);
afterAll(async () => {
  await daemon?.stop();
  await simulator?.stop();
});

async function make(path: string, body: object): Promise<string> {
  const made = await daemon.call<{ id: string }>("POST", path, body);
  expect([path, made.status, made.body]).toEqual([path, 200, made.body]);
  return made.body.id;
}

async function control(path: string, body: object): Promise<void> {
  const answer = await fetch(`${simulator.control}${path}`, { method: "POST", body: JSON.stringify(body) });
  expect(answer.ok).toBe(true);
}

const setUp = (phone: number, setup: object) => control(`/phones/${phones[phone]?.name}/setup`, setup);
const check = async (phone: number): Promise<Check> =>
  (await daemon.call<Check>("POST", `/devices/${phones[phone]?.id}/phone-configuration`, {})).body;
const codes = async (phone: number): Promise<string[]> => (await check(phone)).problems.map(({ code }) => code);
const quietTest = async (phone: number) =>
  (
    await daemon.call<{ provenAt: string | null; fault: string | null }>(
      "POST",
      `/devices/${phones[phone]?.id}/quiet-test`,
      {},
    )
  ).body;

describe("the configuration of phones, read by TFTP", () => {
  it("is unknown until a cluster has a TFTP server", async () => {
    expect(await codes(0)).toEqual(["no-server"]);
    expect(await quietTest(0)).toMatchObject({ provenAt: expect.any(String), fault: null });
    cluster = await make("/callmgr-clusters", {
      ...{ name: "Campus", axlAddress: "127.0.0.1:1", axlUser: "axl", snmpVersion: "2", snmpCommunity: "p" },
      ...{ tftpAddress: "127.0.0.1", tftpPort: simulator.tftpPort },
    });
  });

  it("shows a phone that takes pushes from this appliance", async () => {
    const found = await check(0);
    expect(found).toMatchObject({
      server: `127.0.0.1:${simulator.tftpPort}`,
      file: `${phones[0]?.name}.cnf.xml`,
      configuration: {
        authenticationUrl: authUrl,
        webAccess: "full",
        load: "sip8845.14-1-1",
        securityMode: "non-secure",
      },
      problems: [],
    });
    expect(JSON.stringify(found)).not.toContain("secret-of-ssh");
    expect((await quietTest(0)).fault).toBeNull();
  });

  it("tells why a phone refuses pushes, in the silent test too", async () => {
    await setUp(1, { webAccess: "off" });
    const [problem] = (await check(1)).problems;
    expect(problem).toMatchObject({
      code: "web-access-off",
      severity: "refuses",
      words: expect.stringContaining("Web access is off: this phone refuses pushes."),
      wordsSentence: { code: "phone-configuration.web-access-off" },
    });
    expect(await quietTest(1)).toMatchObject({
      provenAt: null,
      fault: expect.stringMatching(/^Web access is off: .*The test said/),
    });
    // Its web page responds, so that the plugin's probe alone would call it reached.
    await setUp(1, { webAccess: "read-only" });
    expect(await quietTest(1)).toMatchObject({
      provenAt: null,
      fault: expect.stringMatching(/^Web access is read-only/),
    });
    await setUp(1, { webAccess: "full", authenticationUrl: null });
    expect(await quietTest(1)).toMatchObject({ fault: expect.stringMatching(/^The phone has no authentication URL/) });
    await setUp(1, { authenticationUrl: "http://192.0.2.9:8080/auth?x=1&y=2" });
    expect(await quietTest(1)).toMatchObject({
      fault: expect.stringContaining("points elsewhere: http://192.0.2.9:8080/auth?x=1&y=2."),
    });
  });

  it("is read behind a signature, and is said to be encrypted or missing", async () => {
    await setUp(2, { file: "signed" });
    expect(await check(2)).toMatchObject({
      file: `${phones[2]?.name}.cnf.xml.sgn`,
      configuration: { isSigned: true, authenticationUrl: authUrl },
      problems: [],
    });
    await setUp(2, { file: "encrypted" });
    expect(await check(2)).toMatchObject({
      configuration: null,
      problems: [{ code: "encrypted", severity: "unknown" }],
    });
    // What is not known is no fault.
    expect((await quietTest(2)).fault).toBeNull();
    await setUp(2, { file: "none" });
    expect(await codes(2)).toEqual(["no-file"]);
  });

  it("is checked by the command, whose exit code says whether the phone takes pushes", async () => {
    const carillon = (name = ""): Promise<Ran> =>
      runCommand(["device", "configuration", name], { CARILLON_URL: daemon.url, CARILLON_TOKEN: daemon.first.token });
    const well = await carillon(phones[0]?.name);
    expect([well.exitCode, well.err.join()]).toEqual([0, expect.stringContaining("takes pushes from this appliance.")]);
    await setUp(3, { webAccess: "off" });
    const refused = await carillon(phones[3]?.name);
    expect([refused.exitCode, refused.err.join()]).toEqual([1, expect.stringMatching(/^REFUSES +Web access is off/)]);
    expect((await carillon("SEPFFFFFFFFFFFF")).err.join()).toContain("Device SEPFFFFFFFFFFFF not found.");
  });

  it("belongs to phones only, and its server is part of the connection test", async () => {
    const zone = await make(`/extensions/${ONPREM_EXTENSION_ID}/devices`, {
      ...{ endpointId: daemon.first.endpointId, type: "speakers", deviceIdentifier: "zone:Hall", description: "Hall" },
      attributes: { Group: "239.1.2.3", Port: "20480" },
    });
    expect((await daemon.call("POST", `/devices/${zone}/phone-configuration`, {})).status).toBe(409);
    const { body } = await daemon.call<{ checks: object[] }>(
      "POST",
      `/callmgr-clusters/${cluster}/connection-test`,
      {},
    );
    expect(body.checks).toContainEqual(expect.objectContaining({ what: "tftp", ok: true, needed: false }));
  });
});
