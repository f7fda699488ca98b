import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import users from "../../src/resources/people/users.ts";
import auditEntries from "../../src/resources/security/audit-entries.ts";
import { type BrowserSession, createBrowserSession, type VisitedPage } from "../support/browser-session.ts";
import { externalProgram } from "../support/external-programs.ts";
import { makeKey, type SamlAssertionClaims, type SamlPeer, startSamlPeer } from "../support/saml-peer.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

const { describe, it } = externalProgram("xmlsec1");

const ANN: Partial<SamlAssertionClaims> = {
  nameId: "ann-7",
  attributes: { mail: ["ann@example.org"], displayName: ["Ann"], groups: ["Teachers", "Choir"] },
};

describe("log-in by SAML", () => {
  let api: ApiFixture;
  let idp: SamlPeer;
  let origin: string;
  let id: string;
  beforeAll(async () => {
    idp = await startSamlPeer();
    api = await openApi(makeTempDir());
    ({ origin } = new URL(api.base));
    const { entryPoint, entityId: idpIssuer, certificate: idpCertificates } = idp;
    const made = await api.call("POST", "/identity-providers", {
      json: {
        ...{ name: "Federation", type: "saml", entryPoint, idpIssuer, idpCertificates },
        ...{ groupsAttribute: "groups", selfRegistrationEnabled: true },
      },
    });
    expect(made.status).toBe(200);
    ({ id } = made.body);
  });
  afterAll(async () => {
    await api?.close();
    await idp?.stop();
  });

  async function logIn(visitor: BrowserSession, says = ANN, language = "en"): Promise<VisitedPage> {
    idp.nextAssertion = says;
    const page = await visitor.open(`${origin}/api/log-in/${id}?to=/api/v1/session`, { language });
    return visitor.submit(page);
  }
  /** Begins a log-in and returns what the provider's page would post. */
  async function answered(visitor = createBrowserSession()): Promise<{ SAMLResponse: string; RelayState: string }> {
    idp.nextAssertion = ANN;
    const { text } = await visitor.open(`${origin}/api/log-in/${id}`);
    const fieldOf = (name: string): string => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? "";
    return { SAMLResponse: fieldOf("SAMLResponse"), RelayState: fieldOf("RelayState") };
  }
  const post = (form: Record<string, string>) =>
    fetch(`${origin}/api/log-in/${id}/consume`, { method: "POST", body: new URLSearchParams(form) });
  const lastReason = () => api.store.find(auditEntries, { op: "log-in-refused" }).at(-1)?.details;

  it("creates a new user with groups, over a page that carries the cookie", async () => {
    const end = await logIn(createBrowserSession());
    expect(JSON.parse(end.text)).toMatchObject({ email: "ann@example.org", name: "Ann", providerName: "Federation" });
    const [ann] = api.store.find(users, { email: "ann@example.org" });
    expect(ann?.providerKey).toBe(`${id} ann-7`);
    const { body } = await api.call("GET", `/scim-groups?identityProviderId=${id}&includeMemberCounts=true`);
    expect(body.data.map(({ name, memberCount }: never) => [name, memberCount])).toEqual([
      ["Teachers", 1],
      ["Choir", 1],
    ]);
  });

  it("describes itself to the provider", async () => {
    const answer = await fetch(`${origin}/api/log-in/${id}/metadata`);
    expect(answer.headers.get("content-type")).toContain("application/samlmetadata+xml");
    const xml = await answer.text();
    expect(xml).toContain(`entityID="${origin}/api/log-in/${id}/metadata"`);
    expect(xml).toContain(`Location="${origin}/api/log-in/${id}/consume"`);
    expect(xml).toContain('WantAssertionsSigned="true"');
    const test = await api.call("POST", `/identity-providers/${id}/connection-test`);
    expect(test.body).toMatchObject({
      ok: true,
      checks: [{ what: "certificate" }, { what: "page" }, { what: "groups" }],
    });
  });

  it("keeps so many log-ins that were begun: the oldest go, and nothing that was used is forgotten", async () => {
    const keys = (kind: string): Set<string> => {
      const rows = api.store.all<{ key: string }>("SELECT key FROM sso_login_state WHERE key LIKE ?", `${kind} %`);
      return new Set(rows.map(({ key }) => key));
    };
    const used = keys("assertion");
    const until = Date.now() + 600_000;
    await api.store.write((tx) => {
      tx.run("DELETE FROM sso_login_state WHERE key LIKE 'request %'");
      const add = "INSERT INTO sso_login_state VALUES (?, '', ?)";
      for (let at = 0; at < 10_000; at += 1) tx.run(add, `request of-nobody ${at}`, until - at);
    });
    const own = await answered();
    const left = keys("request");
    expect(left.size).toBe(10_000 - 25 + 1);
    expect([9_974, 9_975, 9_999].map((at) => left.has(`request of-nobody ${at}`))).toEqual([true, false, false]);
    expect((await post(own)).status).toBe(200);
    expect(keys("assertion").size).toBe(used.size + 1);
    await api.store.write((tx) => void tx.run("DELETE FROM sso_login_state WHERE key LIKE 'request of-nobody %'"));
  });

  const refused: readonly [string, Partial<SamlAssertionClaims>, string][] = [
    ["that ended", { beginsIn: -600_000, endsIn: -120_000 }, "expired"],
    ["that begins later", { beginsIn: 120_000 }, "expired"],
    ["for another audience", { audience: "https://other.example.org" }, "audience"],
    ["for another address", { recipient: "https://other.example.org/acs" }, "audience"],
    ["of another provider", { issuer: "https://other.example.org" }, "audience"],
    ["to another request", { inResponseTo: "_of-somebody-else" }, "replayed"],
  ];
  for (const [what, wrong, reason] of refused) {
    it(`refuses an assertion ${what}`, async () => {
      const visitor = createBrowserSession();
      const end = await logIn(visitor, { ...ANN, ...wrong });
      expect([end.status, end.text]).toEqual([400, expect.stringContaining('role="alert"')]);
      expect(lastReason()).toEqual({ identityProviderId: id, reason });
      expect(visitor.cookies(`${origin}/`)).toBe("");
    });
  }

  it("takes one that ended by less than the clocks may differ", async () => {
    const end = await logIn(createBrowserSession(), { ...ANN, beginsIn: -300_000, endsIn: -30_000 });
    expect(end.status).toBe(200);
  });

  it("refuses one that another key signed, and one that was changed after it was signed", async () => {
    idp.hasOtherKey = true;
    const end = await logIn(createBrowserSession(), ANN, "de");
    idp.hasOtherKey = false;
    expect([end.status, end.text]).toEqual([400, expect.stringContaining("nicht vom Anmeldedienst unterschrieben")]);
    expect(lastReason()).toEqual({ identityProviderId: id, reason: "signature" });
    const { SAMLResponse, RelayState } = await answered();
    const forged = Buffer.from(SAMLResponse, "base64").toString().replace("ann@example.org", "root@example.org");
    const changed = { SAMLResponse: Buffer.from(forged).toString("base64"), RelayState };
    expect((await post(changed)).status).toBe(400);
    expect(lastReason()).toEqual({ identityProviderId: id, reason: "signature" });
  });

  it("accepts one response per log-in, and logs nothing of it", async () => {
    const { RelayState } = await answered();
    const [junk, secret] = ["bm8geG1s", Buffer.from('<a b="of-nobody-else" b=').toString("base64")];
    expect((await post({ SAMLResponse: junk, RelayState: "" })).status).toBe(400);
    expect(lastReason()).toEqual({ identityProviderId: id, reason: "replayed" });
    expect((await post({ SAMLResponse: secret, RelayState })).status).toBe(400);
    expect(lastReason()).toEqual({ identityProviderId: id, reason: "answer" });
    expect((await post({ SAMLResponse: secret, RelayState })).status).toBe(400);
    expect(lastReason()).toEqual({ identityProviderId: id, reason: "replayed" });
    for (const text of [secret, RelayState, "of-nobody-else", "ann@example.org"]) {
      expect(api.logText()).not.toContain(text);
    }
  });

  it("decrypts encrypted assertions", async () => {
    const folder = makeTempDir();
    makeKey(folder, "own");
    const [spPrivateKey, spCertificate] = ["own.key", "own.crt"].map((name) =>
      readFileSync(join(folder, name), "utf8"),
    );
    const at = `/identity-providers/${id}`;
    expect((await api.call("PUT", at, { json: { spPrivateKey, spCertificate } })).status).toBe(200);
    idp.encryptsFor = spCertificate ?? null;
    expect((await logIn(createBrowserSession())).status).toBe(200);
    const other = await answered();
    expect((await api.call("PUT", at, { json: { spPrivateKey: null, spCertificate: null } })).status).toBe(200);
    expect((await post(other)).status).toBe(400);
    expect(lastReason()).toEqual({ identityProviderId: id, reason: "answer" });
    idp.encryptsFor = null;
  });

  it("rejects a response that would block other log-ins", async () => {
    for (const much of ["<a/>".repeat(4_000), `<a ${'b="" '.repeat(4_000)}/>`, "<!---->".repeat(4_000)]) {
      const SAMLResponse = Buffer.from(`<Response>${much}</Response>`).toString("base64");
      const { RelayState } = await answered();
      expect((await post({ SAMLResponse, RelayState })).status).toBe(400);
      expect(lastReason()).toEqual({ identityProviderId: id, reason: "answer" });
    }
  });

  it("takes an assertion once, and in the browser that asked for it alone", async () => {
    const visitor = createBrowserSession();
    const fields = await answered(visitor);
    const first = await post(fields);
    const [, ticket = ""] = /url=(.*)$/.exec(first.headers.get("refresh") ?? "") ?? [];
    expect([first.status, ticket]).toEqual([200, expect.stringContaining("/done?ticket=")]);
    const again = await post(fields);
    expect([again.status, await again.text()]).toEqual([400, expect.stringContaining("was already used")]);
    expect(lastReason()).toEqual({ identityProviderId: id, reason: "replayed" });
    const other = createBrowserSession();
    await other.open(`${origin}/api/log-in/${id}`);
    expect((await createBrowserSession().open(origin + ticket)).status).toBe(400);
    // Whoever has the ticket and no part in its log-in spends it.
    expect((await other.open(origin + ticket)).status).toBe(400);
    expect((await visitor.open(origin + ticket)).status).toBe(400);
  });

  it("refuses an assertion in a log-in that did not ask for it", async () => {
    const [{ SAMLResponse }, { RelayState }] = [await answered(), await answered()];
    expect((await post({ SAMLResponse, RelayState })).status).toBe(400);
    expect(lastReason()).toEqual({ identityProviderId: id, reason: "replayed" });
  });

  it("refuses an assertion that was used even where its request is known again, as after a restart", async () => {
    const visitor = createBrowserSession();
    const once = { ...ANN, id: "_used-once" };
    expect((await logIn(visitor, once)).status).toBe(200);
    expect((await logIn(visitor, once)).text).toContain("was already used");
    expect(api.store.all("SELECT key FROM sso_login_state WHERE key LIKE 'assertion %'").length).toBeGreaterThan(1);
  });

  it("reports missing settings", async () => {
    const json = { name: "Half", type: "saml", entryPoint: idp.entryPoint };
    const none = await api.call("POST", "/identity-providers", { json });
    expect(none.body.errors[0]).toMatchObject({ field: "idpCertificates", type: "required" });
    const bad = await api.call("POST", "/identity-providers", { json: { ...json, idpCertificates: "nonsense" } });
    expect(bad.body.errors[0]).toMatchObject({ field: "idpCertificates", type: "invalid-value" });
  });
});
