import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { XmlDocument, XsdValidator } from "libxml2-wasm";
import { xmlRegisterFsInputProviders } from "libxml2-wasm/lib/nodejs.mjs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createClusterReader } from "../../../src/call-manager/cluster-reader.ts";
import { createClusterReaderThread } from "../../../src/call-manager/cluster-reader-thread.ts";
import type { ClusterAccess, SnmpAccess } from "../../../src/call-manager/cluster-types.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createSsrfGuard } from "../../../src/lib/ssrf-guard.ts";
import { type AxlPeer, schemaFolder, startAxlPeer } from "../../support/call-manager/axl-peer.ts";
import { createSimulatedCluster, type SimulatedCluster } from "../../support/call-manager/simulated-cluster.ts";
import { COMMUNITY, type SnmpPeer, type SnmpUser, startSnmpPeer } from "../../support/call-manager/snmp-peer.ts";
import { externalProgram } from "../../support/external-programs.ts";

const passwords = { authPassword: "authority-4712", encryptPassword: "privacy-4713" };
const USERS: SnmpUser[] = [
  { name: "usual", authentication: "SHA", encryption: "AES", ...passwords },
  { name: "strong", authentication: "SHA-512", encryption: "AES-256", ...passwords },
  { name: "old", authentication: "MD5", encryption: "DES", ...passwords },
];

externalProgram("snmpd").describe("reading a cluster", () => {
  let cluster: SimulatedCluster;
  let axl: AxlPeer;
  let snmp: SnmpPeer;
  let gathering: ReturnType<typeof createClusterReader>;
  beforeAll(async () => {
    cluster = createSimulatedCluster(120);
    snmp = await startSnmpPeer(cluster, USERS);
    axl = await startAxlPeer(cluster, { host: "127.0.0.1", nodes: snmp.nodes });
    const policy = createSsrfGuard({ allowedTargets: ["127.0.0.0/8"] });
    const settings = { authorities: null, snmpPort: snmp.port, allowDes: false };
    gathering = createClusterReader({ policy, clock: systemClock, ...settings, onProgress: () => undefined });
  });
  afterAll(async () => {
    await gathering.close();
    await Promise.all([axl.close(), snmp.close()]);
  });

  const access = (
    more: Partial<ClusterAccess["axl"]> = {},
    by: SnmpAccess = { version: 2, community: COMMUNITY },
  ): ClusterAccess => {
    const { address, user, password, fingerprint } = axl;
    return { id: "campus", name: "Campus", axl: { address, user, password, fingerprint, ...more }, snmp: by };
  };
  const version3 = (user: string, more: object = {}): SnmpAccess => ({ version: 3, user, ...passwords, ...more });

  it("sends nothing that the maker's schema refuses", async () => {
    axl.requests.length = 0;
    await gathering.read(access(), "full");
    cluster.recordChange("u", [...cluster.phones.keys()][3] as string);
    snmp.refresh();
    expect(await gathering.read(access(), "delta")).toMatchObject({ kind: "delta", changed: 1, gone: [] });
    const operations = new Set<string>();
    const validate = await openValidator();
    for (const request of axl.requests) {
      const [body = "", operation = ""] = /<axl:(\w+).*<\/axl:\1>/s.exec(request) ?? [];
      operations.add(operation);
      expect(() => validate(body), body).not.toThrow();
    }
    expect([...operations].sort()).toEqual([
      "executeSQLQuery",
      "getCCMVersion",
      "getPhone",
      "listCallManager",
      "listChange",
      "listPhone",
    ]);
    expect(() =>
      validate(
        axl.requests
          .at(-1)
          ?.replaceAll("uuid", "uid")
          .replace(/^.*Body>(.*)<\/soapenv:Body.*$/s, "$1") ?? "",
      ),
    ).toThrow();
  });

  it("talks to an interface that the maker's customers could talk to", async () => {
    // Foreign clients: what they read of the peers is what is known.
    const { stdout } = await promisify(execFile)("snmpbulkwalk", [
      ...["-v2c", "-c", COMMUNITY, "-m", "", "-Oqv", `127.0.0.2:${snmp.port}`, "1.3.6.1.4.1.9.9.156.1.2.1.1.20"],
    ]);
    const named = stdout
      .trim()
      .split("\n")
      .map((line) => line.replaceAll('"', ""));
    expect(named).toEqual([...cluster.phones.values()].filter(({ node }) => node === 0).map(({ name }) => name));
  });

  it.each<[string, Partial<ClusterAccess["axl"]>, string]>([
    ["the user", { user: "nobody" }, "credentials"],
    ["the password", { password: "wrong" }, "credentials"],
    ["the certificate", { fingerprint: Array(32).fill("00").join(":") }, "tls"],
    ["an authority", { fingerprint: null }, "tls"],
    ["the port", { address: "127.0.0.1:1" }, "connect"],
    ["the address", { address: "192.0.2.1.invalid" }, "dns"],
  ])("names %s as what is wrong", async (_what, more, code) => {
    const { ok, checks } = await gathering.testConnection(access(more));
    expect([ok, checks.length, checks[0]?.code]).toEqual([false, 1, code]);
    expect(JSON.stringify(checks)).not.toContain(axl.password);
    if (more.fingerprint === null) expect(checks[0]?.words).toContain(axl.fingerprint);
  });

  it.each([
    ["usual", {}, null],
    ["strong", {}, null],
    ["nobody", {}, "snmp-credentials"],
    ["usual", { authPassword: "authority-0000" }, "snmp-credentials"],
  ])("finds the protocols of the SNMP user %s %o", async (user, more, code) => {
    const { checks } = await gathering.testConnection(access({}, version3(user, more)));
    expect(checks.filter(({ what }) => what === "snmp").map((each) => each.code)).toEqual([code, code]);
  });

  it("does not use DES unless it is allowed", async () => {
    const { checks } = await gathering.testConnection(access({}, version3("old")));
    expect(checks.find(({ what }) => what === "snmp")).toMatchObject({
      ok: false,
      words: expect.stringContaining("DES"),
    });
    const settings = { allowedTargets: ["127.0.0.0/8"], authorities: axl.certificate, snmpPort: snmp.port };
    const thread = createClusterReaderThread({ ...settings, allowDes: true }, () => undefined);
    const allowed = await thread.testConnection(access({ fingerprint: null }, version3("old")));
    await thread.close();
    expect(allowed).toMatchObject({ ok: true });
  });

  it("goes on with a session that has ended", async () => {
    axl.endSession();
    expect(await gathering.read(access(), "full")).toMatchObject({ phones: 120, registered: 108 });
    expect(axl.overlaps).toBe(0);
  });
});

/** Checks an operation's element against the maker's schema; throws what is wrong. */
async function openValidator(): Promise<(xml: string) => void> {
  xmlRegisterFsInputProviders();
  const file = join(schemaFolder("14.0"), "AXLSoap.xsd");
  using schema = XmlDocument.fromBuffer(readFileSync(file), { url: file });
  const validator = XsdValidator.fromDoc(schema);
  return (xml) => {
    using document = XmlDocument.fromString(xml);
    validator.validate(document);
  };
}
