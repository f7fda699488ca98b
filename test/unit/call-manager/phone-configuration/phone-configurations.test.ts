import { afterAll, describe, expect, it } from "vitest";
import { createPhoneConfigurations } from "../../../../src/call-manager/phone-configuration/phone-configurations.ts";
import { createSsrfGuard } from "../../../../src/lib/ssrf-guard.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { data, type ScriptedTftpServer, startScriptedTftpServer } from "./scripted-tftp-server.ts";

const OWN = "http://appliance.example.org:8085/auth";
let server: ScriptedTftpServer | null = null;
afterAll(() => server?.close());

async function open(content: string | null, cluster: object = {}) {
  await server?.close();
  server = await startScriptedTftpServer((transfer) => {
    if (content !== null) transfer.send(data(1, content));
  });
  const clock = createFakeClock();
  const row = { tftpAddress: "127.0.0.1", tftpPort: server.port, capfAddress: null, ...cluster };
  const reader = { get: () => row, find: () => [row] } as never;
  const configurations = createPhoneConfigurations({
    ...{ reader, clock, policy: createSsrfGuard({ allowedTargets: ["127.0.0.0/8"] }) },
    authenticationUrl: () => OWN,
    ownAddresses: () => ["192.0.2.5"],
  });
  const device = { type: "phones" as const, deviceIdentifier: "SEP001122334455", attributes: {} };
  const codes = async (deviceIdentifier = device.deviceIdentifier): Promise<string[]> =>
    (await configurations.check({ ...device, deviceIdentifier })).problems.map(({ code }) => code);
  return { clock, configurations, device, codes };
}

const withUrls = (url: string, secureUrl = ""): string =>
  `<device><authenticationURL>${url}</authenticationURL><secureAuthenticationURL>${secureUrl}</secureAuthenticationURL></device>`;

describe("the check of a phone's configuration", () => {
  it("leaves a server that did not respond alone for a minute", async () => {
    const { clock, codes } = await open(null);
    const asked = codes();
    for (const [requests, timeoutMs] of [
      [1, 1_000],
      [2, 1_500],
      [3, 2_500],
    ] as const) {
      await expect.poll(() => server?.requests.length).toBe(requests);
      await clock.advance(timeoutMs);
    }
    expect(await asked).toEqual(["unreachable"]);
    expect(await codes()).toEqual(["unreachable"]);
    expect(server?.requests).toHaveLength(3);
    await clock.advance(60_000);
    void codes();
    await expect.poll(() => server?.requests.length).toBe(4);
  });

  it.each<[string, string, string[]]>([
    [OWN, "", []],
    ["http://APPLIANCE.example.org:8085/other", "", []],
    // Another address of this machine.
    ["http://192.0.2.5:8085/auth", "", []],
    ["http://192.0.2.5:8086/auth", "", ["authentication-url-elsewhere"]],
    ["http://192.0.2.6:8085/auth", "", ["authentication-url-elsewhere"]],
    ["not a URL", "", ["authentication-url-elsewhere"]],
    ["", "", ["authentication-url-missing"]],
    [OWN, "https://publisher.example.org:8443/ccmcip/authenticate.jsp", ["secure-authentication-url-elsewhere"]],
    ["", OWN, []],
  ])("judges the URL %j and the secure one %j", async (url, secureUrl, expected) => {
    const { codes } = await open(withUrls(url, secureUrl));
    expect(await codes()).toEqual(expected);
  });

  it("notes another CAPF server than that of the cluster", async () => {
    const capf = "<capfList><capf><processNodeName>old.example.org</processNodeName></capf></capfList></device>";
    const content = withUrls(OWN).replace("</device>", capf);
    expect(await (await open(content, { capfAddress: "new.example.org" })).codes()).toEqual(["capf-elsewhere"]);
    expect(await (await open(content, { capfAddress: "OLD.example.org:3804" })).codes()).toEqual([]);
  });

  it.each([
    "../../etc/passwd",
    "SEP",
    "SEP00112233445G",
    "zone:hall",
    "SEP001122334455/../x",
    "SEP001122334455\0octet",
  ])("asks for no file of the name %j", async (name) => {
    const { codes } = await open(withUrls(OWN));
    expect(await codes(name)).toEqual(["no-server"]);
    expect(server?.requests).toEqual([]);
  });

  it("asks only the server of the cluster", async () => {
    expect(await (await open(withUrls(OWN), { tftpAddress: null })).codes()).toEqual(["no-server"]);
    expect(await (await open(withUrls(OWN), { tftpAddress: "192.0.2.300" })).codes()).toEqual(["unreachable"]);
  });

  it("diagnoses what refuses before what may refuse, and nothing of what it could not judge", async () => {
    const off = withUrls("http://192.0.2.6/").replace(
      "<device>",
      "<device><vendorConfig><webAccess>1</webAccess></vendorConfig>",
    );
    const { configurations, device } = await open(off);
    expect(await configurations.diagnose(device)).toMatchObject({ code: "web-access-off", severity: "refuses" });
    const unreadable = await open("<html/>");
    expect(await unreadable.configurations.diagnose(device)).toBeNull();
    expect(await unreadable.configurations.diagnose({ ...device, type: "speakers" })).toBeNull();
  });
});
