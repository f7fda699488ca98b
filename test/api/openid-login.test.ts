import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newId } from "../../src/lib/ids.ts";
import userDevices from "../../src/resources/people/user-devices.ts";
import users from "../../src/resources/people/users.ts";
import auditEntries from "../../src/resources/security/audit-entries.ts";
import identityProviders from "../../src/resources/security/identity-providers.ts";
import scimGroupMembers from "../../src/resources/security/scim-group-members.ts";
import scimGroups from "../../src/resources/security/scim-groups.ts";
import securityGroups from "../../src/resources/security/security-groups.ts";
import { type BrowserSession, createBrowserSession, type VisitedPage } from "../support/browser-session.ts";
import { type OpenIdPeer, startOpenIdPeer } from "../support/openid-peer.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
let peer: OpenIdPeer;
let providerId: string;
let origin: string;
beforeAll(async () => {
  api = await openApi(makeTempDir(), { allowedTargets: ["127.0.0.0/8"] });
  ({ origin } = new URL(api.base));
  const name = "Campus";
  // Its id is part of the address that the provider must know.
  const made = await api.call("POST", "/identity-providers", {
    json: { name, type: "oidc", issuer: "http://127.0.0.1:9", clientId: "carillon", clientSecret: "not yet" },
  });
  providerId = made.body.id;
  peer = await startOpenIdPeer(`${origin}/api/log-in/${providerId}/back`, `${origin}/`);
  const { issuer, clientSecret } = peer;
  await change({ issuer, clientSecret, groupsAttribute: "groups", selfRegistrationEnabled: true, logOut: true });
});
afterAll(async () => {
  await peer?.stop();
  await api.close();
});

async function change(json: object): Promise<void> {
  expect((await api.call("PUT", `/identity-providers/${providerId}`, { json })).status).toBe(200);
}

/** Logs in at the provider's pages and comes back. */
async function logIn(visitor: BrowserSession, login: string, to = "/"): Promise<VisitedPage> {
  const page = await visitor.open(`${origin}/api/log-in/${providerId}?to=${encodeURIComponent(to)}`);
  const consent = await visitor.submit(page, { login, password: "whatever" });
  return visitor.submit(consent);
}

async function sessionOf(visitor: BrowserSession) {
  const cookie = visitor.cookies(`${origin}/api/v1/session`);
  return api.call("GET", "/session", { token: null, headers: { cookie } });
}

const seconds = () => Math.floor(Date.now() / 1_000);
const refusals = () => api.store.find(auditEntries, { op: "log-in-refused" }).map(({ details }) => details);

describe("log-in by OpenID Connect", () => {
  it("creates a new user with the provider's groups, and returns to the starting page", async () => {
    peer.people.set("ann", { email: "ann@example.org", name: "Ann", groups: ["Teachers", "Choir"] });
    const visitor = createBrowserSession();
    const end = await logIn(visitor, "ann", "/api/v1/session");
    expect(end.url.pathname).toBe("/api/v1/session");
    expect(JSON.parse(end.text)).toMatchObject({
      ...{ email: "ann@example.org", name: "Ann", providerId, providerName: "Campus", accessToken: null },
      logOutPath: `/api/log-in/${providerId}/out`,
    });
    const [ann] = api.store.find(users, { email: "ann@example.org" });
    expect(ann).toMatchObject({ source: "self-registered", selfRegistered: true, passwordHash: null });
    const groups = api.store.find(scimGroups, { identityProviderId: providerId }).map(({ name }) => name);
    expect(groups.sort()).toEqual(["Choir", "Teachers"]);
    const shown = await api.call("GET", `/users/${ann?.id}?includeIdp=true`);
    expect(shown.body).toMatchObject({ providerIdpId: providerId, providerIdp: { name: "Campus", type: "oidc" } });
  });

  it("gives the rights of tied groups, and takes them at the next log-in after the provider does", async () => {
    const [teachers] = api.store.find(scimGroups, { name: "Teachers" });
    const group = await api.call("POST", "/security-groups", { json: { name: "Senders" } });
    const at = `/security-groups/${group.body.id}`;
    await api.call("POST", `${at}/permissions`, { json: { verb: "get", spec: "/users/*" } });
    await api.call("POST", `${at}/scim-groups`, { json: { scimGroupId: teachers?.id } });
    const visitor = createBrowserSession();
    await logIn(visitor, "ann");
    const read = (): Promise<number> =>
      api
        .call("GET", `/users/${api.adminId}`, { token: null, headers: { cookie: visitor.cookies(`${origin}/`) } })
        .then(({ status }) => status);
    expect(await read()).toBe(200);
    peer.people.set("ann", { email: "ann@example.org", name: "Ann", groups: ["Choir"] });
    await logIn(createBrowserSession(), "ann");
    // In the session that was open before, too.
    expect(await read()).toBe(404);
  });

  async function makeBreakGlass(userId: string): Promise<void> {
    const [group] = api.store.find(securityGroups, { superGroup: true });
    const at = `/security-groups/${group?.id}/members`;
    expect((await api.call("POST", at, { json: { userId } })).status).toBe(200);
    expect((await api.call("PUT", `/users/${userId}`, { json: { breakGlass: true } })).status).toBe(200);
  }

  it.each<[string, object]>([
    ["no groups claim", {}],
    [
      "a reference to them",
      { _claim_names: { groups: "src1" }, _claim_sources: { src1: { endpoint: "https://graph.example/groups" } } },
    ],
    ["the mark of too many", { hasgroups: true }],
  ])("keeps the last known groups when the provider sends %s", async (_, claims) => {
    const groupsOf = () => {
      const [ann] = api.store.find(users, { email: "ann@example.org" });
      return api.store.find(scimGroupMembers, { userId: ann?.id as string }).length;
    };
    peer.people.set("ann", { email: "ann@example.org", name: "Ann", groups: ["Choir", "Teachers"] });
    await logIn(createBrowserSession(), "ann");
    expect(groupsOf()).toBe(2);
    peer.people.set("ann", { email: "ann@example.org", name: "Ann", ...claims } as never);
    await logIn(createBrowserSession(), "ann");
    expect(groupsOf()).toBe(2);
    peer.people.set("ann", { email: "ann@example.org", name: "Ann", groups: [] });
    await logIn(createBrowserSession(), "ann");
    expect(groupsOf()).toBe(0);
  });

  it("takes over the account with the address, but for one that the provider does not vouch for", async () => {
    const bob = await api.call("POST", "/users", { json: { name: "Robert", email: "bob@example.org" } });
    const cat = await api.call("POST", "/users", { json: { name: "Cat", email: "cat@example.org" } });
    await makeBreakGlass(cat.body.id);
    peer.people.set("bob", { email: "BOB@example.org", name: "Bob" });
    peer.people.set("cat", { email: "cat@example.org" });
    peer.people.set("eve", { email: "bob@example.org" });
    const hal = await api.call("POST", "/users", { json: { name: "Hal", email: "hal@example.org" } });
    peer.people.set("dan", { email: "hal@example.org", email_verified: "false" });
    peer.people.set("hal", { email: "hal@example.org", email_verified: undefined });
    const visitor = createBrowserSession();
    await logIn(visitor, "bob");
    expect((await sessionOf(visitor)).body).toMatchObject({ userId: bob.body.id, name: "Robert" });
    for (const login of ["cat", "eve"]) {
      const end = await logIn(createBrowserSession(), login);
      expect([end.status, end.text]).toEqual([403, expect.stringContaining("There is no user for your account")]);
    }
    expect(refusals()).toContainEqual({ identityProviderId: providerId, reason: "no-account" });
    expect(api.store.get(users, cat.body.id)?.providerKey).toBeNull();
    for (const login of ["dan", "hal"]) {
      await logIn(createBrowserSession(), login);
      expect(api.store.find(users, { name: login })[0]?.email, login).toBeNull();
    }
    expect(api.store.get(users, hal.body.id)?.providerKey).toBeNull();
    // One for whom a provider of another appliance vouches, too, stays that one's.
    const providerKey = `${newId()} ida`;
    const { id: idaId } = await api.store.create(users, { name: "Ida", email: "ida@example.org" }, api.system, {
      providerKey,
    });
    peer.people.set("ida", { email: "ida@example.org" });
    const ida = createBrowserSession();
    await logIn(ida, "ida");
    expect((await sessionOf(ida)).body.userId).toBe(idaId);
    expect(api.store.get(users, idaId)?.providerKey).toBe(providerKey);
  });

  it("takes over a self-registered account without the addresses that a stranger gave for it", async () => {
    const input = { name: "Kim", email: "kim@example.org" };
    const system = { selfRegistered: true, source: "self-registered" } as const;
    const { id: userId } = await api.store.create(users, input, api.system, system);
    for (const [type, deviceIdentifier, verified] of [
      ["email", "KIM@example.org", false],
      ["SMS", "+4917066666666", false],
      ["SMS", "+4917077777777", true],
    ] as const)
      await api.store.create(
        userDevices,
        { userId, type, name: deviceIdentifier, deviceIdentifier, verified },
        api.system,
      );
    peer.people.set("kim", { email: "kim@example.org" });
    await logIn(createBrowserSession(), "kim");
    expect(api.store.find(userDevices, { userId }).map(({ deviceIdentifier }) => deviceIdentifier)).toEqual([
      "KIM@example.org",
      "+4917077777777",
    ]);
  });

  it("takes back the word of a provider for an account that gets breakGlass", async () => {
    const [bob] = api.store.find(users, { email: "bob@example.org" });
    expect(bob?.providerKey).toBe(`${providerId} bob`);
    await makeBreakGlass(bob?.id as string);
    expect(api.store.get(users, bob?.id as string)?.providerKey).toBeNull();
    expect((await logIn(createBrowserSession(), "bob")).status).toBe(403);
  });

  it("adds a user to more groups than one transaction holds", async () => {
    const groups = Array.from({ length: 60 }, (_none, n) => `Course ${n}`);
    peer.people.set("ann", { email: "ann@example.org", name: "Ann", groups });
    await logIn(createBrowserSession(), "ann");
    const [ann] = api.store.find(users, { email: "ann@example.org" });
    const inCourses = () => api.store.find(scimGroupMembers, { userId: ann?.id as string }).length;
    expect(inCourses()).toBe(60);
    peer.people.set("ann", { email: "ann@example.org", name: "Ann", groups: ["course 7"] });
    await logIn(createBrowserSession(), "ann");
    expect(inCourses()).toBe(1);
  });

  it("lets only those change providers, and names of groups with rights, who have these rights", async () => {
    const specs = ["/identity-providers", "/identity-providers/*", "/scim-groups/*"];
    const grants = specs.flatMap((spec) => ["get", "post", "put", "delete"].map((verb) => `${verb} ${spec}`));
    const { token } = await api.user("Eli", ...grants);
    const by = async (method: string, at: string, json?: object) =>
      (await api.call(method, at, { token, ...(json ? { json } : {}) })).status;
    const [tied] = api.store.find(scimGroups, { name: "Teachers" });
    const [loose] = api.store.find(scimGroups, { name: "Course 1" });
    expect(await by("GET", `/identity-providers/${providerId}`)).toBe(200);
    expect(await by("POST", "/identity-providers", { name: "Own", type: "oidc", enabled: false })).toBe(403);
    expect(await by("PUT", `/identity-providers/${providerId}`, { issuer: "https://eve.example.org" })).toBe(403);
    expect(await by("DELETE", `/identity-providers/${providerId}`)).toBe(403);
    expect(await by("PUT", `/scim-groups/${tied?.id}`, { name: "Everybody" })).toBe(403);
    expect(await by("PUT", `/scim-groups/${loose?.id}`, { name: "Course One" })).toBe(200);
  });

  it("refuses strangers where users are not made of them, and the locked", async () => {
    await change({ selfRegistrationEnabled: false });
    peer.people.set("fay", { email: "fay@example.org" });
    const end = await logIn(createBrowserSession(), "fay");
    expect(end.status).toBe(403);
    await change({ selfRegistrationEnabled: true });
    const [ann] = api.store.find(users, { email: "ann@example.org" });
    await api.call("PUT", `/users/${ann?.id}`, { json: { lock: { start: "2020-01-01T00:00:00Z" } } });
    expect((await logIn(createBrowserSession(), "ann")).text).toContain("Your account is locked");
    await api.call("PUT", `/users/${ann?.id}`, { json: { lock: null } });
  });

  it.each([
    ["signed with other keys", () => ({ showsOtherKeys: true }), "signature"],
    ["too old", () => ({ otherClaims: { exp: seconds() - 90 } }), "expired"],
    ["for somebody else", () => ({ otherClaims: { aud: "another client" } }), "audience"],
    ["of another log-in", () => ({ otherClaims: { nonce: "another" } }), "audience"],
  ])("refuses what is %s, in words, and keeps it in the audit", async (_what, wrong, reason) => {
    Object.assign(peer, wrong());
    // Keys are asked for anew with the row.
    await change({ name: `Campus ${reason}` });
    const visitor = createBrowserSession();
    const end = await logIn(visitor, "ann");
    expect([end.status, end.text]).toEqual([400, expect.stringContaining('role="alert"')]);
    expect((await sessionOf(visitor)).status).toBe(401);
    expect(refusals().at(-1)).toEqual({ identityProviderId: providerId, reason });
    Object.assign(peer, { showsOtherKeys: false, otherClaims: {} });
    await change({ name: "Campus" });
  });

  it("requires the level, the methods and the age of the provider's log-in, and asks for them", async () => {
    await change({ requiredAcr: "urn:mfa urn:phr", requiredAmr: "pwd otp", maxLoginAgeInSecs: 600 });
    const begun = await fetch(`${origin}/api/log-in/${providerId}`, { redirect: "manual" });
    const asked = new URL(begun.headers.get("location") ?? "").searchParams;
    expect([asked.get("acr_values"), asked.get("max_age")]).toEqual(["urn:mfa urn:phr", "600"]);
    const good = { acr: "urn:mfa", amr: ["pwd", "otp"], auth_time: seconds() - 60 };
    peer.otherClaims = { ...good, amr: ["pwd"] };
    const end = await logIn(createBrowserSession(), "ann");
    expect([end.status, end.text]).toEqual([403, expect.stringContaining("a weaker method")]);
    expect(refusals().at(-1)).toEqual({ identityProviderId: providerId, reason: "strength" });
    peer.otherClaims = good;
    const visitor = createBrowserSession();
    await logIn(visitor, "ann");
    expect((await sessionOf(visitor)).status).toBe(200);
    peer.otherClaims = {};
    await change({ requiredAcr: null, requiredAmr: null, maxLoginAgeInSecs: null });
  });

  it("takes a token that is too old by less than the clocks may differ", async () => {
    peer.otherClaims = { exp: seconds() - 30 };
    const visitor = createBrowserSession();
    await logIn(visitor, "ann");
    expect((await sessionOf(visitor)).status).toBe(200);
    peer.otherClaims = {};
  });

  it("takes nothing that another browser began, nor a second time", async () => {
    const mallory = createBrowserSession();
    const began = await mallory.open(`${origin}/api/log-in/${providerId}`);
    expect(began.url.origin).toBe(peer.issuer);
    const stranger = await createBrowserSession().open(`${origin}/api/log-in/${providerId}/back?code=x&state=y`);
    expect([stranger.status, stranger.text]).toEqual([400, expect.stringContaining("was not started in this browser")]);
    const forged = await mallory.open(`${origin}/api/log-in/${providerId}/back?code=x&state=y`, { language: "de" });
    expect(forged.text).toContain("wurde nicht in diesem Browser begonnen");
    const visitor = createBrowserSession();
    const page = await visitor.open(`${origin}/api/log-in/${providerId}`);
    const consent = await visitor.submit(page, { login: "ann", password: "whatever" });
    const { url } = await visitor.submit(consent, {}, `${origin}/api/log-in/`);
    const code = url.searchParams.get("code") ?? "none";
    expect((await visitor.open(url.href)).url.pathname).toBe("/");
    const again = await visitor.open(url.href);
    expect([again.status, again.text]).toEqual([400, expect.stringContaining("was already used")]);
    expect(refusals().at(-1)).toEqual({ identityProviderId: providerId, reason: "replayed" });
    const kept = JSON.stringify(api.store.find(auditEntries, {})) + api.logText();
    for (const secret of [code, url.searchParams.get("state") ?? "none", visitor.cookies(`${origin}/`).slice(-40)]) {
      expect(kept).not.toContain(secret);
    }
  });

  it("says what to do when the provider is down, while others get in", async () => {
    peer.isDown = true;
    await change({ name: "Campus away" });
    const end = await createBrowserSession().open(`${origin}/api/log-in/${providerId}`, { language: "de" });
    expect([end.status, end.text]).toEqual([502, expect.stringContaining("Notfallkonto")]);
    const test = await api.call("POST", `/identity-providers/${providerId}/connection-test`);
    expect(test.body).toMatchObject({ ok: false, checks: [{ what: "discovery", ok: false }] });
    peer.isDown = false;
    await change({ name: "Campus" });
    const well = await api.call("POST", `/identity-providers/${providerId}/connection-test`);
    expect(well.body).toMatchObject({
      ok: true,
      checks: [{ what: "discovery" }, { what: "page" }, { what: "groups" }],
    });
  });

  it("redirects to the provider after log-out, and only within the appliance after log-in", async () => {
    const out = await createBrowserSession().open(`${origin}/api/log-in/${providerId}/out`);
    expect([out.url.origin, out.url.pathname]).toEqual([peer.issuer, "/session/end"]);
    expect(Object.fromEntries(out.url.searchParams)).toEqual({
      ...{ client_id: "carillon", post_logout_redirect_uri: `${origin}/` },
    });
    const leaving = createBrowserSession();
    await logIn(leaving, "ann", "/api/v1/session");
    const asked = await leaving.open(`${origin}/api/log-in/${providerId}/out`);
    // Who does not say yes is still logged in there.
    expect(asked.text).toContain("Yes, sign me out");
    const again = await leaving.open(`${origin}/api/log-in/${providerId}?to=/api/v1/session`);
    expect(again.text).toContain("ann@example.org");
    const back = await leaving.submit(asked, { logout: "yes" }, `${origin}/`);
    expect(back.url.href).toBe(`${origin}/`);
    const door = await leaving.open(`${origin}/api/log-in/${providerId}?to=/api/v1/session`);
    expect([door.url.origin, door.text]).toEqual([peer.issuer, expect.stringContaining('name="password"')]);
    const visitor = createBrowserSession();
    const end = await logIn(visitor, "ann", "//evil.example.org/");
    expect(end.url.origin).toBe(origin);
    const far = await fetch(`${origin}/api/log-in/${providerId}?to=/${"x".repeat(1_999)}`, { redirect: "manual" });
    // Browsers keep no longer cookie.
    expect(far.headers.get("set-cookie")?.length).toBeLessThan(4_096);
  });

  it("works at the authorize page, which continues the request", async () => {
    const back = "https://app.example.org/back";
    const json = { name: "Clocks", type: "public", redirectUris: [back] };
    const { body } = await api.call("POST", "/applications", { json });
    const asked = {
      response_type: "code",
      client_id: body.clientId,
      redirect_uri: back,
      code_challenge_method: "S256",
    };
    const query = new URLSearchParams({ ...asked, code_challenge: "x".repeat(43) });
    const visitor = createBrowserSession();
    const page = await visitor.open(`${origin}/api/authorize?${query}`);
    const [, href = "", name] = /<a href="(\/api\/log-in[^"]*)">([^<]*)</.exec(page.text) ?? [];
    expect(name).toBe("Log in with Campus");
    const end = await logIn(visitor, "ann", new URL(href, origin).searchParams.get("to") ?? "");
    expect([end.url.pathname, end.text]).toEqual(["/api/authorize", expect.stringContaining("Allow Clocks?")]);
  });

  it("shows and logs no secret", async () => {
    const shown = await api.call("GET", `/identity-providers/${providerId}`);
    expect(shown.body).not.toHaveProperty("clientSecret");
    expect(shown.body.redirectUri).toContain(`/api/log-in/${providerId}/back`);
    expect(api.logText()).not.toContain(peer.clientSecret);
    expect(JSON.stringify(api.store.all("SELECT * FROM identity_providers"))).not.toContain(peer.clientSecret);
  });
});

describe("the built-in provider", () => {
  it("stays, and is switched off only while a break-glass account is left", async () => {
    const { body } = await api.call("GET", "/identity-providers");
    expect(body.data.map(({ type, isDefault }: { type: string; isDefault: boolean }) => [type, isDefault])).toEqual([
      ["built-in", true],
      ["oidc", false],
    ]);
    const at = `/identity-providers/${body.data[0].id}`;
    expect((await api.call("DELETE", at)).status).toBe(409);
    expect((await api.call("PUT", at, { json: { enabled: false } })).status).toBe(409);
    const password = "a horse that is right";
    await api.call("PUT", `/users/${api.adminId}`, { json: { email: "root@example.org", breakGlass: true } });
    await api.call("PUT", `/users/${api.adminId}/password`, { json: { password } });
    const gus = await api.call("POST", "/users", { json: { name: "Gus", email: "gus@example.org" } });
    await api.call("PUT", `/users/${gus.body.id}/password`, { json: { password } });
    expect((await api.call("PUT", at, { json: { enabled: false } })).status).toBe(200);
    expect((await api.call("PUT", `/users/${api.adminId}`, { json: { breakGlass: false } })).status).toBe(409);
    const enter = (email: string) => api.call("POST", "/api/login", { token: null, json: { email, password } });
    expect((await enter("gus@example.org")).status).toBe(401);
    expect((await enter("root@example.org")).status).toBe(204);
    const state = await api.call("GET", "/api/setup", { token: null });
    expect(state.body).toMatchObject({ takesPasswords: false, doors: [{ id: providerId, name: "Campus" }] });
    await api.call("PUT", at, { json: { enabled: true } });
    expect((await enter("gus@example.org")).status).toBe(204);
  });

  it("detects a provider that has just gone down", async () => {
    const test = () => api.call("POST", `/identity-providers/${providerId}/connection-test`);
    expect((await test()).body.ok).toBe(true);
    await peer.stop();
    expect((await test()).body.ok).toBe(false);
  });

  it("takes over the users of a deleted provider, whose groups are removed", async () => {
    const rehearsed = await api.call("DELETE", `/identity-providers/${providerId}?dryRun=true`);
    expect([rehearsed.status, api.store.get(identityProviders, providerId)?.enabled]).toEqual([200, true]);
    expect((await api.call("DELETE", `/identity-providers/${providerId}`)).status).toBe(200);
    expect(api.store.find(scimGroups, {}).map(({ name }) => name)).toEqual([]);
    const [ann] = api.store.find(users, { email: "ann@example.org" });
    expect(ann?.providerKey).toBeNull();
  });
});
