import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { get } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../../src/lib/clock.ts";
import { silentLog } from "../../../../src/lib/log.ts";
import { createCertificateAuthority, issueServerCertificate } from "../../../../src/ops/tls/certificate-authority.ts";
import {
  authorityPath,
  certificateHealthReasons,
  ensureAuthority,
  ensureCertificate,
  installCertificate,
  readCertificate,
  removeInstalledCertificate,
} from "../../../../src/ops/tls/certificates.ts";
import { defaultSettings } from "../../../../src/settings/schema.ts";
import { type ApiServer, startApiServer } from "../../../../src/wiring/api-server.ts";
import { unusedPort } from "../../../support/free-port.ts";
import { makeTempDir } from "../../../support/temp-dir.ts";

const DAY = 86_400_000;
const now = Date.now();

describe("the own certificate", () => {
  it("is issued once, and again when a third of its lifetime is left or the names change", async () => {
    const dataDir = makeTempDir();
    expect(await ensureCertificate(dataDir, ["box.example.org", "10.1.2.3", "::1"], now)).toBe(true);
    const facts = readCertificate(dataDir)?.facts;
    expect(facts).toMatchObject({ origin: "own", names: ["box.example.org", "10.1.2.3", "[::1]"] });
    expect(await ensureCertificate(dataDir, ["10.1.2.3", "::1"], now + 250 * DAY)).toBe(false);
    expect(await ensureCertificate(dataDir, ["10.1.2.4"], now)).toBe(true);
    expect(await ensureCertificate(dataDir, ["10.1.2.4"], now + 270 * DAY)).toBe(true);
    expect(statSync(join(dataDir, "tls", "server.key")).mode & 0o777).toBe(0o600);
  });

  it("is reported before it expires", () => {
    const facts = { origin: "installed", validTo: now } as never;
    expect(certificateHealthReasons(facts, now - 31 * DAY)).toEqual([]);
    expect(certificateHealthReasons(facts, now - 29 * DAY)).toMatchObject([{ level: "yellow" }]);
    expect(certificateHealthReasons(facts, now - 6 * DAY)).toMatchObject([{ level: "red" }]);
    expect(certificateHealthReasons(facts, now + DAY)).toMatchObject([{ reason: expect.stringContaining("expired") }]);
  });
});

describe("an installed certificate", () => {
  it("is accepted if valid, and rejected otherwise", async () => {
    const dataDir = makeTempDir();
    await ensureCertificate(dataDir, ["box"], now);
    const authority = await createCertificateAuthority("elsewhere", now);
    const good = await issueServerCertificate(authority, ["box.example.org"], now);
    const other = await issueServerCertificate(authority, ["box.example.org"], now);
    const old = await issueServerCertificate(authority, ["box.example.org"], now - 400 * DAY);
    const refused = (pair: typeof good, words: string) =>
      expect(() => installCertificate(dataDir, pair, now)).toThrow(words);
    refused({ ...good, key: other.key }, "does not match the certificate");
    refused({ ...good, certificate: "text" }, "Invalid certificate");
    refused({ ...good, key: "text" }, "Invalid key");
    refused(old, "expired");
    expect(readCertificate(dataDir)?.facts.origin).toBe("own");
    expect(installCertificate(dataDir, good, now)).toMatchObject({ names: ["box.example.org"] });
    expect(readCertificate(dataDir)?.facts.origin).toBe("installed");
    expect(await ensureCertificate(dataDir, ["box"], now + 390 * DAY)).toBe(false);
    removeInstalledCertificate(dataDir);
    expect(readCertificate(dataDir)?.facts.origin).toBe("own");
  });
});

describe("serving by default", () => {
  const serve = async (isEarlierData: boolean, ports?: { port: number; autoPort: number }): Promise<ApiServer> => {
    const dataDir = makeTempDir();
    await ensureAuthority(dataDir, now);
    const settings = { ...defaultSettings(), listen: "0.0.0.0:0" };
    const of = { dataDir, settings, clock: systemClock, log: silentLog, isEarlierData };
    const address = { host: "0.0.0.0", port: ports?.port ?? 0 };
    return startApiServer({ ...of, address, ...(ports && { autoPort: ports.autoPort }) });
  };

  it("uses TLS where others reach it", async () => {
    const server = await serve(false);
    expect([new URL(server.url).protocol, server.healthSource()]).toEqual(["https:", []]);
    await server.stop();
  });

  it("serves plain HTTP rather than nothing if another program uses the port", async () => {
    const other = createServer().listen(0, "0.0.0.0");
    await once(other, "listening");
    const autoPort = (other.address() as AddressInfo).port;
    const server = await serve(false, { port: await unusedPort(), autoPort });
    expect(new URL(server.url).protocol).toBe("http:");
    expect(server.healthSource()).toMatchObject([
      { level: "yellow", code: "plain-http", reason: expect.stringContaining(String(autoPort)) },
    ]);
    await server.stop();
    other.close();
  });

  it("stays on plain HTTP with data of an earlier release, and says so", async () => {
    const server = await serve(true);
    expect(new URL(server.url).protocol).toBe("http:");
    expect(server.healthSource()).toMatchObject([{ level: "yellow", code: "plain-http" }]);
    await server.stop();
  });
});

describe("serving with TLS", () => {
  let serving: ApiServer;
  let dataDir: string;
  let plain: string;

  beforeAll(async () => {
    dataDir = makeTempDir();
    await ensureAuthority(dataDir, now);
    const settings = { ...defaultSettings(), tls: { listen: "127.0.0.1:0" } };
    const address = { host: "127.0.0.1", port: await unusedPort() };
    plain = `http://127.0.0.1:${address.port}`;
    serving = await startApiServer({ dataDir, address, settings, clock: systemClock, log: silentLog });
    serving.setRequestListener((_request, response) => response.end("open"));
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

  it("is trusted only by clients that have the CA certificate", async () => {
    const ca = readFileSync(authorityPath(dataDir), "utf8");
    expect(await fetchSecurely(ca)).toEqual({ text: "open", strict: undefined });
    await expect(fetchSecurely((await createCertificateAuthority("other", now)).certificate)).rejects.toThrow();
  });

  it("speaks TLS 1.2 with modern ciphers and 1.3, nothing older", async () => {
    expect(await protocolOf({})).toBe("TLSv1.3");
    expect(await protocolOf({ maxVersion: "TLSv1.2" })).toBe("TLSv1.2");
    expect(await protocolOf({ minVersion: "TLSv1.1", maxVersion: "TLSv1.1" })).toBeNull();
    expect(await protocolOf({ maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES128-SHA" })).toBeNull();
  });

  it("redirects plain HTTP", async () => {
    const there = await fetch(`${plain}/console/?a=b`, { redirect: "manual" });
    expect([there.status, there.headers.get("location")]).toEqual([308, `${serving.url}/console/?a=b`]);
    expect((await fetch(`${plain}/api/v1/users`, { method: "POST", body: "{}" })).status).toBe(426);
    const statusFor = async (path: string, headers: Record<string, string>) =>
      (await fetch(plain + path, { headers, redirect: "manual" })).status;
    expect(await statusFor("/api/v1/users", {})).toBe(426);
    expect(await statusFor("/", { authorization: "Bearer x" })).toBe(426);
    expect(await statusFor("/api/v1/docs", { accept: "text/html,*/*" })).toBe(308);
    expect(await statusFor("/api/authorize?client_id=x", {})).toBe(308);
    const authority = await fetch(`${plain}/carillon-authority.crt`);
    expect(await authority.text()).toBe(readFileSync(authorityPath(dataDir), "utf8"));
  });

  it("uses another certificate without a restart", async () => {
    const authority = await createCertificateAuthority("elsewhere", now);
    installCertificate(dataDir, await issueServerCertificate(authority, ["127.0.0.1"], now), now);
    await serving.reloadCertificate();
    expect(await fetchSecurely(authority.certificate)).toEqual({ text: "open", strict: "max-age=31536000" });
    expect(serving.healthSource()).toEqual([]);
  });
});
