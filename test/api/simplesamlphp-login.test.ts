import { afterAll, beforeAll, expect, it } from "vitest";
import users from "../../src/resources/people/users.ts";
import auditEntries from "../../src/resources/security/audit-entries.ts";
import scimGroupMembers from "../../src/resources/security/scim-group-members.ts";
import { type BrowserSession, createBrowserSession, type VisitedPage } from "../support/browser-session.ts";
import { externalProgram } from "../support/external-programs.ts";
import { type SimpleSamlPeer, startSimpleSaml } from "../support/simplesamlphp.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

const { describe } = externalProgram("php");

const GROUPS = Array.from({ length: 400 }, (_none, n) => `Course ${n}`);

describe("log-in by SimpleSAMLphp", () => {
  let api: ApiFixture;
  let idp: SimpleSamlPeer;
  let origin: string;
  let id: string;
  beforeAll(async () => {
    idp = await startSimpleSaml();
    idp.setPeople({
      ann: { mail: ["ann@example.org"], displayName: ["Ann"], groups: ["Teachers", "Choir"] },
      bob: { mail: ["bob@example.org"], displayName: ["Bob"], groups: GROUPS },
      cat: { mail: ["cat@example.org"], displayName: ["Cat"] },
      dan: { mail: ["dan@example.org"], displayName: ["Dan"] },
    });
    api = await openApi(makeTempDir(), { allowedTargets: ["127.0.0.0/8"] });
    ({ origin } = new URL(api.base));
    const { entryPoint, entityId: idpIssuer, certificate: idpCertificates } = idp;
    const made = await api.call("POST", "/identity-providers", {
      json: {
        ...{ name: "School", type: "saml", entryPoint, idpIssuer, idpCertificates },
        ...{ groupsAttribute: "groups", selfRegistrationEnabled: true },
      },
    });
    expect(made.body).toMatchObject({ nameIdFormat: "persistent" });
    ({ id } = made.body);
    const at = `${origin}/api/log-in/${id}`;
    idp.setServiceProvider(`${at}/metadata`, `${at}/consume`, `${at}/logout`);
  });
  afterAll(async () => {
    await api?.close();
    await idp?.stop();
  });

  const change = async (json: object): Promise<void> => {
    expect((await api.call("PUT", `/identity-providers/${id}`, { json })).status).toBe(200);
  };
  /** At the provider's pages: the form for the password, then the one that goes back. */
  async function logIn(name: string, visitor: BrowserSession = createBrowserSession()): Promise<VisitedPage> {
    const page = await visitor.open(`${origin}/api/log-in/${id}?to=/api/v1/session`);
    const filled = /name="password"/.test(page.text)
      ? await visitor.submit(page, { username: name, password: `pass-${name}` })
      : page;
    return visitor.submit(filled);
  }
  const lastRefusal = () => api.store.find(auditEntries, { op: "log-in-refused" }).at(-1)?.details;

  it("asks for a persistent NameID, by which each later log-in finds the account", async () => {
    const [first, second] = [JSON.parse((await logIn("ann")).text), JSON.parse((await logIn("ann")).text)];
    expect(first).toMatchObject({ email: "ann@example.org", name: "Ann", providerName: "School" });
    expect(second.userId).toBe(first.userId);
    expect(api.store.find(users, { email: "ann@example.org" })).toHaveLength(1);
  });

  it("reads hundreds of groups", async () => {
    const { userId } = JSON.parse((await logIn("bob")).text);
    // One log-in creates 200 groups at most; the next one the rest.
    expect(JSON.parse((await logIn("bob")).text).userId).toBe(userId);
    expect(api.store.find(scimGroupMembers, { userId }, 1_000)).toHaveLength(GROUPS.length);
  });

  it("refuses a transient NameID, which no later log-in has, unless an attribute names the person", async () => {
    idp.change({ nameIdFormat: "transient" });
    await change({ nameIdFormat: null });
    expect((await logIn("cat")).status).toBe(400);
    expect(lastRefusal()).toEqual({ identityProviderId: id, reason: "answer" });
    expect(api.logText()).toContain("The provider sends a transient NameID");
    expect(api.store.find(users, { email: "cat@example.org" })).toEqual([]);
    await change({ subjectAttribute: "uid" });
    const ids = [JSON.parse((await logIn("cat")).text).userId, JSON.parse((await logIn("cat")).text).userId];
    expect(ids).toEqual([api.store.find(users, { email: "cat@example.org" })[0]?.id, ids[0]]);
  });

  it.each([
    // Signed: response, assertion; then whether it is accepted without and with the setting.
    [true, true, 200, 200],
    [false, true, 200, 200],
    [true, false, 400, 200],
    [false, false, 400, 400],
  ])(
    "takes signed responses with unsigned assertions by its setting: %s, %s",
    async (response, assertion, ...wanted) => {
      idp.change({ signsResponse: response, signsAssertion: assertion });
      for (const [at, acceptSignedResponse] of [false, true].entries()) {
        await change({ acceptSignedResponse });
        expect((await logIn("cat")).status).toBe(wanted[at]);
        if (wanted[at] === 400) expect(lastRefusal()).toEqual({ identityProviderId: id, reason: "signature" });
      }
      idp.change({ signsResponse: true, signsAssertion: true });
      await change({ acceptSignedResponse: false });
    },
  );

  it("ends the sessions of who logs out at the provider, by a signed request", async () => {
    await change({ logoutUrl: idp.logoutUrl });
    const sessionOf = async (visitor: BrowserSession) => (await visitor.open(`${origin}/api/v1/session`)).status;
    const [cat, dan] = [createBrowserSession(), createBrowserSession()];
    await logIn("cat", cat);
    await logIn("dan", dan);
    expect([await sessionOf(cat), await sessionOf(dan)]).toEqual([200, 200]);
    idp.change({ signsLogout: false });
    expect(await cat.open(idp.logoutPage(`${origin}/api/setup`))).toMatchObject({ status: 400 });
    expect(await sessionOf(cat)).toBe(200);
    idp.change({ signsLogout: true });
    await logIn("cat", cat);
    const end = await cat.open(idp.logoutPage(`${origin}/api/setup`));
    expect([end.status, end.url.pathname]).toEqual([200, "/api/setup"]);
    expect([await sessionOf(cat), await sessionOf(dan)]).toEqual([401, 200]);
  });

  it("asks for a level of authentication and refuses another one", async () => {
    const strong = "https://refeds.org/profile/mfa";
    await change({ requiredAcr: `${strong} urn:another` });
    const weak = await logIn("cat");
    expect([weak.status, weak.text]).toEqual([403, expect.stringContaining("a weaker method")]);
    expect(lastRefusal()).toEqual({ identityProviderId: id, reason: "strength" });
    idp.change({ context: strong });
    expect((await logIn("cat")).status).toBe(200);
    await change({ requiredAcr: null });
  });

  it("has the user authenticate again where the age of the log-in is limited", async () => {
    const visitor = createBrowserSession();
    expect((await logIn("cat", visitor)).status).toBe(200);
    const page = () => visitor.open(`${origin}/api/log-in/${id}?to=/api/v1/session`);
    // It still knows this browser, and asks for no password.
    expect((await page()).text).not.toContain('name="password"');
    await change({ maxLoginAgeInSecs: 300 });
    expect((await page()).text).toContain('name="password"');
    expect((await logIn("cat", visitor)).status).toBe(200);
    await change({ maxLoginAgeInSecs: null });
  });
});
