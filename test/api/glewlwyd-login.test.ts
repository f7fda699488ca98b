import { afterAll, beforeAll, expect, it } from "vitest";
import users from "../../src/resources/people/users.ts";
import scimGroups from "../../src/resources/security/scim-groups.ts";
import { externalProgram } from "../support/external-programs.ts";
import { type GlewlwydPeer, startGlewlwyd } from "../support/glewlwyd.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

const { describe } = externalProgram("glewlwyd");

describe("log-in by Glewlwyd", () => {
  let api: ApiFixture;
  let peer: GlewlwydPeer;
  let origin: string;
  let id: string;
  beforeAll(async () => {
    peer = await startGlewlwyd();
    api = await openApi(makeTempDir(), { allowedTargets: ["127.0.0.0/8"] });
    ({ origin } = new URL(api.base));
    const { issuer, clientId, clientSecret } = peer;
    const made = await api.call("POST", "/identity-providers", {
      json: {
        ...{ name: "Campus", type: "oidc", issuer, clientId, clientSecret, scope: "openid" },
        ...{ emailAttribute: "email", groupsAttribute: "groups", selfRegistrationEnabled: true },
      },
    });
    ({ id } = made.body);
    const { pathname } = new URL(made.body.backChannelLogoutUrl);
    await peer.setClient(`${origin}/api/log-in/${id}/back`, `${origin}${pathname}`);
    await peer.addPerson("ann", { email: "ann@example.org", name: "Ann", groups: ["Teachers", "Choir"] });
    await peer.addPerson("bob", { email: "bob@example.org", name: "Bob", groups: ["Choir"] });
  });
  afterAll(async () => {
    await api?.close();
    await peer?.stop();
  });

  const change = async (json: object): Promise<void> => {
    expect((await api.call("PUT", `/identity-providers/${id}`, { json })).status).toBe(200);
  };
  const cookieOf = ({ headers }: Response): string => (headers.get("set-cookie") ?? "").split(";")[0] as string;
  /** With the cookie that a person has at the provider; gives the response of the appliance and the cookie of the session. */
  async function logIn(cookie: string) {
    const begun = await fetch(`${origin}/api/log-in/${id}`, { redirect: "manual" });
    const back = await peer.authorize(begun.headers.get("location") ?? "", cookie);
    const end = await fetch(back, { headers: { cookie: cookieOf(begun) } });
    const session = end.status === 200 ? cookieOf(end) : "";
    return { status: end.status, text: await end.text(), session };
  }
  const sessionOf = (cookie: string) => api.call("GET", "/session", { token: null, headers: { cookie } });

  it("lets people in with their groups, and knows them again", async () => {
    const entered = await logIn(await peer.logIn("ann"));
    expect([entered.status, entered.text]).toEqual([200, expect.stringContaining("You are logged in")]);
    expect((await sessionOf(entered.session)).body).toMatchObject({ email: "ann@example.org", name: "Ann" });
    const groups = api.store.find(scimGroups, { identityProviderId: id }).map(({ name }) => name);
    expect(groups.sort()).toEqual(["Choir", "Teachers"]);
    await logIn(await peer.logIn("ann"));
    expect(api.store.find(users, { email: "ann@example.org" })).toHaveLength(1);
  });

  it("picks up a new key at once", async () => {
    await peer.rotateKey();
    const entered = await logIn(await peer.logIn("bob"));
    expect([entered.status, (await sessionOf(entered.session)).body.name]).toEqual([200, "Bob"]);
  });

  it("judges methods and age of the log-in by what the provider says", async () => {
    const cookie = await peer.logIn("ann");
    // With its small database it says that everybody authenticated in 1970.
    await change({ maxLoginAgeInSecs: 600 });
    expect((await logIn(cookie)).status).toBe(403);
    await change({ maxLoginAgeInSecs: null, requiredAmr: "password" });
    expect((await logIn(cookie)).status).toBe(200);
    await change({ requiredAmr: "password otp" });
    expect((await logIn(cookie)).status).toBe(403);
    await change({ requiredAmr: null });
  });

  it("ends the sessions of who logs out at the provider, and of nobody else", async () => {
    const [ann, bob] = [await peer.logIn("ann"), await peer.logIn("bob")];
    const [annHere, bobHere] = [(await logIn(ann)).session, (await logIn(bob)).session];
    expect([(await sessionOf(annHere)).status, (await sessionOf(bobHere)).status]).toEqual([200, 200]);
    await peer.logOut(ann);
    await expect.poll(async () => (await sessionOf(annHere)).status).toBe(401);
    expect((await sessionOf(bobHere)).status).toBe(200);
  });

  it("ends no session for a forged logout token", async () => {
    const { session } = await logIn(await peer.logIn("bob"));
    const post = (token: string) =>
      fetch(`${origin}/api/log-in/${id}/back-channel-logout`, {
        method: "POST",
        body: new URLSearchParams({ logout_token: token }),
      });
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = { iss: peer.issuer, aud: peer.clientId, iat: 1, jti: "1", sub: "bob", events: {} };
    for (const token of ["", "a.b.c", `${encode({ alg: "none" })}.${encode(claims)}.`]) {
      const refused = await post(token);
      expect([refused.status, JSON.parse(await refused.text()).errors[0].field]).toEqual([400, "logout_token"]);
    }
    expect((await sessionOf(session)).status).toBe(200);
  });

  it("refuses a wrong client secret in words", async () => {
    await change({ clientSecret: "another" });
    const refused = await logIn(await peer.logIn("ann"));
    expect([refused.status, refused.text]).toEqual([502, expect.stringContaining("returned an error")]);
    await change({ clientSecret: peer.clientSecret });
    expect((await logIn(await peer.logIn("ann"))).status).toBe(200);
  });

  it("tests the connection for real: it fails once the provider is down", async () => {
    const test = async () => (await api.call("POST", `/identity-providers/${id}/connection-test`)).body;
    expect(await test()).toMatchObject({ ok: true, checks: [{ value: peer.issuer }, {}, {}] });
    await peer.stop();
    expect(await test()).toMatchObject({ ok: false, checks: [{ what: "discovery", ok: false }] });
    const { status } = await fetch(`${origin}/api/log-in/${id}`, { redirect: "manual" });
    expect([303, 502]).toContain(status);
  });
});
