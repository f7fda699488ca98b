import { readFileSync, statSync } from "node:fs";
import { get } from "node:https";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Serving, startServing } from "../../../src/app/secure-server.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { silentLog } from "../../../src/base/log.ts";
import {
  authorityPath,
  certificateFaults,
  installCertificate,
  prepareAuthority,
  prepareCertificate,
  readCertificate,
  removeInstalled,
} from "../../../src/operations/certificates.ts";
import { issueCertificate, makeAuthority } from "../../../src/operations/make-certificate.ts";
import { defaultSettings } from "../../../src/settings/schema.ts";
import { freePort } from "../../support/free-port.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const DAY = 86_400_000;
const now = Date.now();

describe("the own certificate", () => {
  it("is made once, and anew when a third of its time is left or the machine is called otherwise", async () => {
    const dataDir = makeTempDir();
    expect(await prepareCertificate(dataDir, ["box.example.org", "10.1.2.3", "::1"], now)).toBe(true);
    const facts = readCertificate(dataDir)?.facts;
    expect(facts).toMatchObject({ origin: "own", names: ["box.example.org", "10.1.2.3", "[::1]"] });
    expect(await prepareCertificate(dataDir, ["10.1.2.3", "::1"], now + 250 * DAY)).toBe(false);
    expect(await prepareCertificate(dataDir, ["10.1.2.4"], now)).toBe(true);
    expect(await prepareCertificate(dataDir, ["10.1.2.4"], now + 270 * DAY)).toBe(true);
    expect(statSync(join(dataDir, "tls", "server.key")).mode & 0o777).toBe(0o600);
  });

  it("is told before it ends", () => {
    const facts = { origin: "installed", validTo: now } as never;
    expect(certificateFaults(facts, now - 31 * DAY)).toEqual([]);
    expect(certificateFaults(facts, now - 29 * DAY)).toMatchObject([{ level: "yellow" }]);
    expect(certificateFaults(facts, now - 6 * DAY)).toMatchObject([{ level: "red" }]);
    expect(certificateFaults(facts, now + DAY)).toMatchObject([{ reason: expect.stringContaining("expired") }]);
  });
});

describe("a certificate from elsewhere", () => {
  it("is taken when it is whole, and refused otherwise", async () => {
    const dataDir = makeTempDir();
    await prepareCertificate(dataDir, ["box"], now);
    const authority = await makeAuthority("elsewhere", now);
    const good = await issueCertificate(authority, ["box.example.org"], now);
    const other = await issueCertificate(authority, ["box.example.org"], now);
    const old = await issueCertificate(authority, ["box.example.org"], now - 400 * DAY);
    const refused = (pair: typeof good, words: string) =>
      expect(() => installCertificate(dataDir, pair, now)).toThrow(words);
    refused({ ...good, key: other.key }, "not that of the certificate");
    refused({ ...good, certificate: "text" }, "can't be read");
    refused({ ...good, key: "text" }, "can't be read");
    refused(old, "expired");
    expect(readCertificate(dataDir)?.facts.origin).toBe("own");
    expect(installCertificate(dataDir, good, now)).toMatchObject({ names: ["box.example.org"] });
    expect(readCertificate(dataDir)?.facts.origin).toBe("installed");
    expect(await prepareCertificate(dataDir, ["box"], now + 390 * DAY)).toBe(false);
    removeInstalled(dataDir);
    expect(readCertificate(dataDir)?.facts.origin).toBe("own");
  });
});

describe("serving with TLS", () => {
  let serving: Serving;
  let dataDir: string;
  let plain: string;

  beforeAll(async () => {
    dataDir = makeTempDir();
    await prepareAuthority(dataDir, now);
    const settings = { ...defaultSettings(), tls: { listen: "127.0.0.1:0" } };
    const address = { host: "127.0.0.1", port: await freePort() };
    plain = `http://127.0.0.1:${address.port}`;
    serving = await startServing({ dataDir, address, settings, clock: systemClock, log: silentLog });
    serving.open((_request, response) => response.end("open"));
  });
  afterAll(() => serving.stop());

  const fetchSecurely = (ca: string) =>
    new Promise<{ text: string; strict: string | undefined }>((resolve, reject) => {
      get(serving.url, { ca, agent: false }, (response) => {
        let text = "";
        response.on("data", (part) => {
          text += part;
        });
        const strict = response.headers["strict-transport-security"];
        response.on("end", () => resolve({ text, strict }));
      }).on("error", reject);
    });

  const protocolOf = (options: object) =>
    new Promise<string | null>((resolve) => {
      const { hostname, port } = new URL(serving.url);
      const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false, ...options }, () => {
        resolve(socket.getProtocol());
        socket.destroy();
      });
      socket.on("error", () => resolve(null));
    });

  it("is trusted by whoever has the authority's certificate, and by nobody else", async () => {
    const ca = readFileSync(authorityPath(dataDir), "utf8");
    expect(await fetchSecurely(ca)).toEqual({ text: "open", strict: undefined });
    await expect(fetchSecurely((await makeAuthority("other", now)).certificate)).rejects.toThrow();
  });

  it("speaks TLS 1.2 with modern ciphers and 1.3, nothing older", async () => {
    expect(await protocolOf({})).toBe("TLSv1.3");
    expect(await protocolOf({ maxVersion: "TLSv1.2" })).toBe("TLSv1.2");
    expect(await protocolOf({ minVersion: "TLSv1.1", maxVersion: "TLSv1.1" })).toBeNull();
    expect(await protocolOf({ maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES128-SHA" })).toBeNull();
  });

  it("is where everybody is sent who comes without", async () => {
    const there = await fetch(`${plain}/console/?a=b`, { redirect: "manual" });
    expect([there.status, there.headers.get("location")]).toEqual([308, `${serving.url}/console/?a=b`]);
    expect((await fetch(`${plain}/api/v1/users`, { method: "POST", body: "{}" })).status).toBe(426);
    const authority = await fetch(`${plain}/carillon-authority.crt`);
    expect(await authority.text()).toBe(readFileSync(authorityPath(dataDir), "utf8"));
  });

  it("shows another certificate without a restart", async () => {
    const authority = await makeAuthority("elsewhere", now);
    installCertificate(dataDir, await issueCertificate(authority, ["127.0.0.1"], now), now);
    await serving.reload();
    expect(await fetchSecurely(authority.certificate)).toEqual({ text: "open", strict: "max-age=31536000" });
    expect(serving.source()).toEqual([]);
  });
});
