import { generateKeyPairSync, sign } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { createEvents } from "../../src/lib/events.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createLicence, type Licence } from "../../src/ops/licence.ts";
import { createCertificateAuthority, issueServerCertificate } from "../../src/ops/tls/certificate-authority.ts";
import userPermissions from "../../src/resources/security/user-permissions.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

const maker = generateKeyPairSync("ed25519");
let api: ApiFixture;
let licence: Licence;

beforeAll(async () => {
  const later: Pick<Licence, "state" | "isValid" | "install" | "remove"> = {
    state: () => licence.state(),
    isValid: () => licence.isValid(),
    install: (document) => licence.install(document),
    remove: () => licence.remove(),
  };
  api = await openApi(makeTempDir(), { needs: { licence: later } });
  const key = maker.publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("base64");
  const events = createEvents(() => undefined);
  licence = createLicence({ store: api.store, clock: systemClock, events, log: silentLog, keys: [key] });
});
afterAll(() => api.close());

it("shows a foreign certificate in place of the generated one, and removes it again", async () => {
  expect((await api.call("GET", "/certificate")).body).toMatchObject({ origin: null, names: [] });
  const authority = await createCertificateAuthority("elsewhere", Date.now());
  const pair = await issueServerCertificate(authority, ["box.example.org"], Date.now());
  const other = await issueServerCertificate(authority, ["box.example.org"], Date.now());
  const refused = await api.call("PUT", "/certificate", { json: { ...pair, key: other.key } });
  expect([refused.status, refused.body.message]).toEqual([400, "The key does not match the certificate."]);
  expect((await api.call("PUT", "/certificate", { json: { certificate: pair.certificate } })).status).toBe(400);
  const { status, body } = await api.call("PUT", "/certificate", { json: pair });
  expect([status, body.origin, body.names]).toEqual([200, "installed", ["box.example.org"]]);
  expect(body.authority).toContain("BEGIN CERTIFICATE");
  expect(JSON.stringify(body)).not.toContain("PRIVATE KEY");
  expect(api.logText()).not.toContain("PRIVATE KEY");
  expect((await api.call("DELETE", "/certificate")).body).toMatchObject({ origin: null });
});

it("accepts a licence only with a trusted signature", async () => {
  const payload = Buffer.from(JSON.stringify({ id: "L-1", holder: "School", expiresAt: null, limits: { users: 500 } }));
  const signature = sign(null, payload, maker.privateKey).toString("base64");
  const document = JSON.stringify({ payload: payload.toString("base64"), signature });
  expect((await api.call("PUT", "/licence", { json: { document: `${document} ` } })).body).toMatchObject({ id: "L-1" });
  const forged = JSON.stringify({ payload: Buffer.from("{}").toString("base64"), signature });
  expect((await api.call("PUT", "/licence", { json: { document: forged } })).status).toBe(400);
  expect((await api.call("GET", "/licence")).body).toMatchObject({ edition: "licensed", holder: "School" });
  expect((await api.call("DELETE", "/licence")).body).toMatchObject({ edition: "community", id: null });
});

it("whose rights are limited to a domain changes nothing of the appliance", async () => {
  const { id, token } = await api.user("Limited");
  for (const spec of ["/certificate", "/licence"]) {
    await api.store.create(userPermissions, { userId: id, verb: "put", spec, domainId: api.rootId }, api.system);
    expect((await api.call("PUT", spec, { token, json: {} })).status).toBe(403);
  }
});

it("lets only super users change trusted keys, regardless of other permissions", async () => {
  const attacks = [
    ["post", "/link", { hub: "https://cloud.attacker.example", code: "AAAA-BBBB" }],
    ["delete", "/link", {}],
    ["post", "/link/codes", {}],
    ["put", "/certificate", { certificate: "x", key: "y" }],
    ["delete", "/certificate", {}],
    ["put", "/licence", { document: "{}" }],
    ["delete", "/licence", {}],
    ["post", "/appliance-upgrades", {}],
  ] as const;
  const { token } = await api.user(
    "Delegated",
    ...attacks.map(([verb, path]) => `${verb} ${path}`),
    "delete /link/*/*",
  );
  for (const [method, path, json] of attacks) {
    const refused = await api.call(method.toUpperCase(), path, { token, json });
    expect([method, path, refused.status]).toEqual([method, path, 403]);
  }
  expect((await api.call("DELETE", `/link/appliances/${api.adminId}`, { token })).status).toBe(403);
});

it("changes of trust are in the audit log", async () => {
  expect((await api.call("DELETE", "/licence")).status).toBe(200);
  const { body } = await api.call("GET", "/audit?op=trust-change&limit=1&sort=-createdAt");
  expect(body).toMatchObject({ data: [{ op: "trust-change", resource: "licence" }] });
  expect(JSON.stringify(body)).toContain("DELETE /licence");
});

it("does not allow changes with read permission only", async () => {
  const { token } = await api.user("Looker", "get /certificate", "get /licence");
  expect((await api.call("GET", "/certificate", { token })).status).toBe(200);
  for (const path of ["/certificate", "/licence"]) {
    expect((await api.call("PUT", path, { token, json: {} })).status).toBe(403);
    expect((await api.call("DELETE", path, { token })).status).toBe(403);
  }
});
