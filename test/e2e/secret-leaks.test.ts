import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { extract } from "tar";
import { afterAll, beforeAll, expect, it } from "vitest";
import { takeAndAwaitBackup } from "../../src/cli/backup.ts";
import { unpackBackup } from "../../src/ops/backup/backup-archive.ts";
import { collectLogs } from "../../src/ops/logs/log-bundle.ts";
import { ensureCertificate } from "../../src/ops/tls/certificates.ts";
import { sendControlCommand } from "../../src/wiring/control-socket.ts";
import type { ApiFixture } from "../api/api-fixture.ts";
import { authorizeParameters, createPkcePair, grantAccess, PASSWORD, REDIRECT_URI } from "../api/oauth-fixture.ts";
import { startTestDaemon, TEST_ADMIN, type TestDaemon } from "../support/daemon.ts";
import { makeTempDir } from "../support/temp-dir.ts";

const EMAIL = "ann@example.org";
/** Clear values by what they are. */
const secrets = new Map<string, string>();
const log: string[] = [];
/** Ids for the placeholders of paths. */
const ids: Record<string, string> = {};

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon({ onLog: (line) => void log.push(line) });
  await ensureCertificate(daemon.dataDir, ["localhost"], Date.now());
  secrets.set("token of init", daemon.first.token);
  secrets.set("password of init", TEST_ADMIN.password);
  Object.assign(ids, { extensionId: daemon.first.extensionId, endpointId: daemon.first.endpointId });
  await people();
  await applications();
  await triggersAndPlugins();
  await callManagers();
  await mistakes();
}, 120_000);
afterAll(() => daemon.stop());

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Body = any;

async function call(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Body> {
  const response = await fetch(`${daemon.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${daemon.first.token}`, "content-type": "application/json", ...headers },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  expect([path, response.status < 300, text]).toEqual([path, true, text]);
  return text === "" ? null : JSON.parse(text);
}

async function askToken(form: Record<string, string>): Promise<Body> {
  const response = await fetch(`${daemon.url}/api/token`, { method: "POST", body: new URLSearchParams(form) });
  const body = (await response.json()) as Body;
  expect([response.status, body.error]).toEqual([200, undefined]);
  return body;
}

function keep(name: string, value: unknown): string {
  expect([name, typeof value, String(value).length > 7]).toEqual([name, "string", true]);
  secrets.set(name, value as string);
  return value as string;
}

async function people(): Promise<void> {
  const ann = await call("POST", "/users", { name: "Ann", email: EMAIL });
  Object.assign(ids, { userId: ann.id });
  await call("PUT", `/users/${ann.id}/password`, { password: keep("first password", "staple battery horse 1") });
  await call("PUT", `/users/${ann.id}/password`, { password: keep("second password", PASSWORD.toUpperCase()) });
  await call("PUT", `/users/${ann.id}/password`, { password: keep("password", PASSWORD) });
  const once = { "idempotency-key": "once" };
  const made = await call("POST", `/users/${ann.id}/tokens`, { name: "scripts" }, once);
  keep("permanent token", made.token);
  expect((await call("POST", `/users/${ann.id}/tokens`, { name: "scripts" }, once)).token).toBe(made.token);
  ids.tokenId = made.id;
  const loggedIn = await fetch(`${daemon.url}/api/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email: EMAIL, password: PASSWORD }),
  });
  keep("session", /=([^;]+)/.exec(loggedIn.headers.get("set-cookie") ?? "")?.[1]);
}

async function applications(): Promise<void> {
  const input = { name: "App", type: "confidential", redirectUris: [REDIRECT_URI], userId: ids.userId };
  const made = await call("POST", "/applications", input, { "idempotency-key": "application" });
  keep("client secret", made.clientSecret);
  const rotated = await call("POST", `/applications/${made.id}/rotate-secret`, {}, { "idempotency-key": "rotation" });
  keep("rotated client secret", rotated.clientSecret);
  ids.applicationId = made.id;
  const client = { client_id: made.clientId, client_secret: rotated.clientSecret };
  keep("client token", (await askToken({ ...client, grant_type: "client_credentials" })).access_token);
  const proof = createPkcePair();
  const page = { base: `${daemon.url}/api/v1` } as ApiFixture;
  const back = await grantAccess(page, authorizeParameters(made, proof, { scope: "offline_access" }), EMAIL);
  const code = keep("code", back.searchParams.get("code"));
  const grant = { ...client, grant_type: "authorization_code", redirect_uri: REDIRECT_URI, code };
  const first = await askToken({ ...grant, code_verifier: keep("verifier", proof.verifier) });
  keep("access token", first.access_token);
  keep("refresh token", first.refresh_token);
  const next = await askToken({ ...client, grant_type: "refresh_token", refresh_token: first.refresh_token });
  keep("second access token", next.access_token);
  keep("second refresh token", next.refresh_token);
}

async function triggersAndPlugins(): Promise<void> {
  const secret = keep("given webhook key", `whsec_${randomBytes(32).toString("base64")}`);
  const input = { name: "Given", spec: "/users/*", type: "webhook", url: "http://127.0.0.1:9/hook" };
  await call("POST", "/triggers", { ...input, secret });
  const made = await call("POST", "/triggers", { ...input, name: "Made" }, { "idempotency-key": "trigger" });
  keep("webhook key", made.secret);
  keep("rotated webhook key", (await call("POST", `/triggers/${made.id}/rotate-secret`, {})).secret);
  ids.triggerId = made.id;
  const { data } = await call("GET", "/extensions?limit=1000");
  const phones = data.find(({ name }: Body) => /phone/i.test(name));
  expect([phones !== undefined, data.map(({ name }: Body) => name)]).toEqual([true, expect.anything()]);
  ids.extensionId = phones.id;
  const config = { ...phones.config, pushUser: "carillon", pushPassword: keep("plugin secret", "push me 4711 times") };
  await call("PUT", `/extensions/${phones.id}`, { config });
  await call("PUT", `/users/${ids.userId}`, { name: "Anna" });
}

async function callManagers(): Promise<void> {
  const cluster = await call("POST", "/callmgr-clusters", {
    ...{ name: "North", endpointIds: [daemon.first.endpointId], axlAddress: "192.0.2.5", axlUser: "carillon" },
    ...{ snmpVersion: "3", snmpUsername: "carillon", axlPassword: keep("AXL password", "axl horse battery 2") },
    snmpAuthPassword: keep("SNMP password", "snmp horse battery 3"),
    snmpEncryptPassword: keep("SNMP encryption password", "snmp staple battery 4"),
    snmpCommunity: keep("SNMP community", "community battery 5"),
  });
  await call("POST", `/callmgr-clusters/${cluster.id}/onprem-servers`, {
    ...{ endpointId: daemon.first.endpointId, cmAddress: "192.0.2.5", cmUsername: "carillon" },
    cmPassword: keep("call manager password", "cm horse battery 6"),
  });
}

/** Requests that fail in all the ways that might be written down. */
async function mistakes(): Promise<void> {
  const bad = (path: string, init: RequestInit = {}) => fetch(`${daemon.url}/api${path}`, init).then((a) => a.text());
  const json = (body: object) => ({
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  await bad("/login", json({ email: keep("mistyped", "my password by mistake"), password: "wrong horse battery" }));
  secrets.set("wrong password", "wrong horse battery");
  await bad(`/v1/users?access_token=${encodeURIComponent(secrets.get("permanent token") ?? "")}`);
  await bad("/v1/users", { headers: { authorization: `Bearer ${keep("unknown token", "carillon_no-such-token")}` } });
  await bad(
    "/token",
    json({ grant_type: "refresh_token", refresh_token: keep("unknown refresh", "carillon_refresh-x") }),
  );
}

/** Texts in which a secret would be given away. */
const formsOf = (secret: string): string[] => {
  const bytes = Buffer.from(secret);
  const key = secret.startsWith("whsec_")
    ? [secret.slice(6), Buffer.from(secret.slice(6), "base64").toString("hex")]
    : [];
  return [
    secret,
    encodeURIComponent(secret),
    bytes.toString("base64").replace(/=+$/, ""),
    bytes.toString("hex"),
    ...key,
  ];
};

function leaksIn(where: string, content: Buffer): string[] {
  return [...secrets].flatMap(([name, secret]) =>
    formsOf(secret).some((form) => content.includes(form)) ? [`${name} in ${where}`] : [],
  );
}

it("stores no secret in clear in the data", () => {
  expect(secrets.size).toBeGreaterThan(20);
  const files = readdirSync(daemon.dataDir, { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(daemon.dataDir, name)).isFile(),
  );
  expect(files.some((name) => name.endsWith("-wal"))).toBe(true);
  expect(files.flatMap((name) => leaksIn(name, readFileSync(join(daemon.dataDir, name))))).toEqual([]);
});

it("stores no secret or key in clear in a backup or in the support archive", async () => {
  const folder = makeTempDir();
  const unpacked = join(folder, "unpacked");
  const order = async (name: string, args: object = {}) =>
    (await sendControlCommand(daemon.dataDir, { order: name, args: { ...args } }))?.result;
  const { path, faults } = await takeAndAwaitBackup(order, { to: folder });
  expect([faults, (await unpackBackup(path, unpacked)).faults]).toEqual([[], []]);
  const bundle = join(folder, "logs.tar.gz");
  await collectLogs(daemon.dataDir, bundle, { settings: {} });
  mkdirSync(join(folder, "logs"));
  await extract({ file: bundle, cwd: join(folder, "logs") });
  const keys = ["secret-key", "tls/authority.key", "tls/server.key"].map((name) => {
    const key = readFileSync(join(daemon.dataDir, name));
    // Of a text in PEM, the lines between its frame.
    return { name, key: name.endsWith(".key") ? key.subarray(key.indexOf("\n") + 1, key.lastIndexOf("\n-")) : key };
  });
  const held = [unpacked, join(folder, "logs")].flatMap((where) =>
    readdirSync(where, { recursive: true, encoding: "utf8" })
      .filter((name) => statSync(join(where, name)).isFile())
      .map((name) => ({ name, content: readFileSync(join(where, name)) })),
  );
  expect(held.map(({ name }) => name)).toEqual(expect.arrayContaining(["carillon.db", "manifest.json"]));
  expect(held.flatMap(({ name, content }) => leaksIn(name, content))).toEqual([]);
  for (const { name, key } of keys)
    expect([name, key.length > 30, held.filter(({ content }) => content.includes(key))]).toEqual([name, true, []]);
});

it("logs no secret, not even at level debug", () => {
  expect(log.length).toBeGreaterThan(10);
  expect(leaksIn("the log", Buffer.from(log.join("")))).toEqual([]);
});

it("returns no secret to any GET, except the user's token at session", async () => {
  const { paths } = await call("GET", "/openapi.json");
  const endless = ["/v1/events"];
  const gets = Object.keys(paths).filter((path) => paths[path].get && !endless.includes(path));
  expect(gets.length).toBeGreaterThan(60);
  const leaks: string[] = [];
  let found = 0;
  for (const path of gets) {
    const filled = path.replace(
      /\{(\w+)\}/g,
      (_all, name: string) => ids[name] ?? "01900000-0000-7000-8000-000000000000",
    );
    const query = path.endsWith("}") ? "" : "?limit=1000&includeOwner=true";
    const headers = { authorization: `Bearer ${daemon.first.token}` };
    const response = await fetch(`${daemon.url}/api${filled}${query}`, { headers, redirect: "manual" });
    const body = Buffer.from(await response.arrayBuffer());
    expect([path, response.status < 500]).toEqual([path, true]);
    if (response.status === 200) found += 1;
    leaks.push(...leaksIn(path, body));
  }
  expect(found).toBeGreaterThan(35);
  expect(leaks).toEqual(["token of init in /v1/session"]);
}, 120_000);
