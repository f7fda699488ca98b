import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import secondFactors from "../../src/resources/people/second-factors.ts";
import userTokens from "../../src/resources/people/user-tokens.ts";
import users from "../../src/resources/people/users.ts";
import auditEntries from "../../src/resources/security/audit-entries.ts";
import { defaultSettings } from "../../src/settings/schema.ts";
import { createSoftPasskey, statementWithCertificate } from "../support/soft-passkey.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";
import { makePerson, PASSWORD } from "./oauth-fixture.ts";

const HOST = "bells.example.org";
const ORIGIN = `https://${HOST}`;
const MINUTE = 60_000;

let api: ApiFixture;
let ahead = 0;
let serial = 0;
let email: string;
let id: string;
let cookie: string;
beforeAll(async () => {
  const settings = { ...defaultSettings(), api: { ...defaultSettings().api, publicUrl: ORIGIN } };
  const clock = {
    ...systemClock,
    now: () => systemClock.now() + ahead,
    monotonicMs: () => systemClock.monotonicMs() + ahead,
  };
  api = await openApi(makeTempDir(), { clock, needs: { settings } });
});
beforeEach(async () => {
  ahead += 20 * MINUTE;
  serial += 1;
  email = `person${serial}@example.org`;
  id = await makePerson(api, email);
  cookie = cookiesOf(await logIn());
});
afterAll(() => api.close());

const cookiesOf = ({ headers }: ReceivedResponse): string =>
  headers
    .getSetCookie()
    .map((each) => each.split(";")[0])
    .join("; ");
const post = (path: string, json: object = {}, sent = ""): Promise<ReceivedResponse> =>
  api.call("POST", path, { token: null, json, headers: { cookie: sent } });
const logIn = () => post("/api/login", { email, password: PASSWORD });
const statusOf = async (sent: string) =>
  (await api.call("GET", "/session", { token: null, headers: { cookie: sent } })).status;

/** A change by the user's own page of the console. */
function asConsole(method: string, path: string, json: object, sent = cookie): Promise<ReceivedResponse> {
  const headers = { cookie: sent, origin: new URL(api.base).origin, "x-carillon-console": "1" };
  return api.call(method, path, { token: null, json, headers });
}
const own = (path: string, json: object = {}) => asConsole("POST", `/users/${id}/${path}`, json);
const optionsFor = async (path: string, sent = "") => (await post(`/api/login/${path}passkey-options`, {}, sent)).body;

type Passkey = ReturnType<typeof createSoftPasskey>;

async function add(name = "Phone"): Promise<{ passkey: Passkey; recoveryCodes: string[] | null }> {
  const passkey = createSoftPasskey(ORIGIN);
  const added = await own("passkeys", { name, passkey: passkey.create((await own("passkey-options")).body) });
  expect(added.status).toBe(200);
  return { passkey, recoveryCodes: added.body.recoveryCodes };
}

const logInWith = (passkey: object) => post("/api/login/passkey", { passkey });

describe("a passkey", () => {
  it("is added, listed by its name without its key, and removed with the password", async () => {
    const options = await own("passkey-options");
    expect(options.body).toMatchObject({ rp: { id: HOST }, attestation: "none", user: { name: email } });
    const { passkey, recoveryCodes } = await add();
    expect(recoveryCodes).toHaveLength(10);
    const { recoveryCodes: none } = await add("Key ring");
    expect(none).toBeNull();
    const rows = await api.call("GET", `/users/${id}/second-factors`, { token: null, headers: { cookie } });
    expect(rows.body.data.map(({ kind, name }: { kind: string; name: string }) => [kind, name])).toEqual([
      ["passkey", "Phone"],
      ["recovery-codes", null],
      ["passkey", "Key ring"],
    ]);
    expect(rows.text).not.toContain(passkey.id);
    expect(rows.text).not.toMatch(/publicKey|credentialId/);

    const [first, , last] = rows.body.data;
    expect((await own("second-factor-removal", { secondFactorId: first.id })).status).toBe(400);
    const proof = { currentPassword: PASSWORD };
    expect((await own("second-factor-removal", { ...proof, secondFactorId: id })).status).toBe(404);
    expect((await own("second-factor-removal", { ...proof, secondFactorId: first.id })).status).toBe(204);
    expect(api.store.count(secondFactors, { userId: id })).toBe(2);
    expect((await logInWith(passkey.sign(await optionsFor("")))).status).toBe(401);
    // Recovery codes protect nothing without a factor.
    expect((await own("second-factor-removal", { ...proof, secondFactorId: last.id })).status).toBe(204);
    expect([api.store.count(secondFactors, { userId: id }), (await logIn()).status]).toEqual([0, 204]);
  });

  it("ends the other sessions of the user when it is the first second factor", async () => {
    const other = cookiesOf(await logIn());
    await add();
    expect([await statusOf(cookie), await statusOf(other)]).toEqual([200, 401]);
  });

  it("logs in without a password, and says so in the audit", async () => {
    const { passkey } = await add();
    const options = await optionsFor("");
    expect(options).toMatchObject({ rpId: HOST, userVerification: "required" });
    expect(options).not.toHaveProperty("allowCredentials.0");
    const entered = await logInWith(passkey.sign(options));
    expect([entered.status, await statusOf(cookiesOf(entered))]).toEqual([204, 200]);
    const [entry] = api.store.find(auditEntries, { op: "log-in", rowId: id }, 100).slice(-1);
    expect(entry?.details).toEqual({ secondFactor: "passkey" });
  });

  it("is the second step after the password; a recovery code is another", async () => {
    const { passkey, recoveryCodes } = await add();
    const first = await logIn();
    expect([first.status, first.body]).toEqual([200, { secondFactors: ["passkey", "recovery-codes"] }]);
    const ticket = cookiesOf(first);
    const options = await optionsFor("second-factor/", ticket);
    expect(options.allowCredentials).toMatchObject([{ id: passkey.id, transports: ["internal"] }]);
    // Presence is enough after the password.
    const signed = passkey.sign(options, { flags: 1 });
    const second = await post("/api/login/second-factor", { passkey: signed }, ticket);
    expect([second.status, await statusOf(cookiesOf(second))]).toEqual([204, 200]);
    const again = cookiesOf(await logIn());
    const byCode = await post("/api/login/second-factor", { code: recoveryCodes?.[0] }, again);
    expect([byCode.status, await statusOf(cookiesOf(byCode))]).toEqual([204, 200]);
  });

  it("cannot be added for somebody else, nor by an account of another provider, nor twice", async () => {
    const { id: otherId } = await api.user("Other");
    expect([403, 404]).toContain((await asConsole("POST", `/users/${otherId}/passkey-options`, {})).status);
    const options = (await own("passkey-options")).body;
    const passkey = createSoftPasskey(ORIGIN);
    const created = passkey.create(options);
    expect((await api.call("POST", `/users/${id}/passkeys`, { json: { name: "x", passkey: created } })).status).toBe(
      403,
    );
    expect((await own("passkeys", { name: "x", passkey: created })).status).toBe(200);
    const twice = passkey.create((await own("passkey-options")).body);
    expect((await own("passkeys", { name: "x", passkey: twice })).status).toBe(409);
  });
});

describe("an attacker's answer to the options for a new passkey", () => {
  const forgeries: [string, Parameters<Passkey["create"]>[1]][] = [
    ["of another origin", { origin: "https://bells.example.org.evil.example" }],
    ["of plain HTTP", { origin: `http://${HOST}` }],
    ["for another host", { rpId: "example.org" }],
    ["with an invented challenge", { challenge: Buffer.alloc(54, 1).toString("base64url") }],
    ["without a challenge", { challenge: "" }],
    ["without the user's presence", { flags: 0 }],
    ["with a maker's certificate", { statement: statementWithCertificate(Buffer.alloc(64, 7)) }],
  ];
  it.each(forgeries)("is refused: %s", async (_, forgery) => {
    const fetched = vi.spyOn(globalThis, "fetch");
    const passkey = createSoftPasskey(ORIGIN).create((await own("passkey-options")).body, forgery);
    const refused = await own("passkeys", { name: "x", passkey });
    expect([refused.status, refused.body.errors[0].field]).toEqual([400, "passkey"]);
    expect(
      fetched.mock.calls.map(([url]) => String(url)).filter((url) => !url.startsWith(api.base.slice(0, 16))),
    ).toEqual([]);
    fetched.mockRestore();
    expect(api.store.count(secondFactors, { userId: id })).toBe(0);
  });

  it.each([null, 1, "x", [], {}, { id: "x", response: {} }, { response: { attestationObject: "oA" } }])(
    "is refused: %j",
    async (passkey) => {
      expect((await own("passkeys", { name: "x", passkey })).status).toBe(400);
    },
  );

  it("is refused late, a second time, and with the challenge of somebody else", async () => {
    const options = (await own("passkey-options")).body;
    ahead += 5 * MINUTE;
    const late = await own("passkeys", { name: "x", passkey: createSoftPasskey(ORIGIN).create(options) });
    expect(late.status).toBe(400);
    const fresh = (await own("passkey-options")).body;
    const first = createSoftPasskey(ORIGIN).create(fresh);
    expect((await own("passkeys", { name: "x", passkey: first })).status).toBe(200);
    const second = createSoftPasskey(ORIGIN).create(fresh);
    expect((await own("passkeys", { name: "x", passkey: second })).status).toBe(400);
    const others = (await optionsFor("")) as { challenge: string };
    const foreign = createSoftPasskey(ORIGIN).create((await own("passkey-options")).body, others);
    expect((await own("passkeys", { name: "x", passkey: foreign })).status).toBe(400);
  });
});

describe("an attacker's log-in with a passkey", () => {
  it.each<[string, Parameters<Passkey["sign"]>[1]]>([
    ["of another origin", { origin: "https://evil.example" }],
    ["for another host", { rpId: "evil.example" }],
    ["with an invented challenge", { challenge: Buffer.alloc(54, 1).toString("base64url") }],
    ["without user verification", { flags: 1 }],
    ["without presence", { flags: 4 }],
    ["with a wrong signature", { signature: Buffer.alloc(70, 3) }],
    ["with an empty signature", { signature: Buffer.alloc(0) }],
    ["for another user", { userHandle: Buffer.from("somebody").toString("base64url") }],
  ])("is refused: %s", async (_, forgery) => {
    const { passkey } = await add();
    const refused = await logInWith(passkey.sign(await optionsFor(""), forgery));
    expect([refused.status, refused.headers.getSetCookie()]).toEqual([401, []]);
    expect((await logInWith(passkey.sign(await optionsFor("")))).status).toBe(204);
  });

  it("is refused with a used or late challenge, or one for something else", async () => {
    const { passkey } = await add();
    const options = await optionsFor("");
    const signed = passkey.sign(options);
    expect((await logInWith(signed)).status).toBe(204);
    expect((await logInWith(signed)).status).toBe(401);
    expect((await logInWith(passkey.sign(options))).status).toBe(401);
    const late = await optionsFor("");
    ahead += 5 * MINUTE;
    expect((await logInWith(passkey.sign(late))).status).toBe(401);
    const ticket = cookiesOf(await logIn());
    const ofStep = await optionsFor("second-factor/", ticket);
    expect((await logInWith(passkey.sign(ofStep))).status).toBe(401);
    const ofConfirmation = (await asConsole("POST", "/session/passkey-options", {})).body;
    expect((await logInWith(passkey.sign(ofConfirmation))).status).toBe(401);
    const stepped = passkey.sign(await optionsFor(""));
    expect((await post("/api/login/second-factor", { passkey: stepped }, ticket)).status).toBe(400);
  });

  it("is refused with a copy of the key, whose counter lags behind", async () => {
    const { passkey } = await add();
    expect((await logInWith(passkey.sign(await optionsFor(""), { counter: 9 }))).status).toBe(204);
    expect((await logInWith(passkey.sign(await optionsFor(""), { counter: 9 }))).status).toBe(401);
    expect((await logInWith(passkey.sign(await optionsFor(""), { counter: 3 }))).status).toBe(401);
    expect((await logInWith(passkey.sign(await optionsFor(""), { counter: 10 }))).status).toBe(204);
  });

  it("is refused for a locked account, and with the passkey of somebody else after the user's password", async () => {
    const { passkey } = await add();
    const [mallory, ownEmail] = [passkey, email];
    serial += 1;
    email = `person${serial}@example.org`;
    id = await makePerson(api, email);
    cookie = cookiesOf(await logIn());
    await add();
    const ticket = cookiesOf(await logIn());
    const signed = mallory.sign(await optionsFor("second-factor/", ticket));
    expect((await post("/api/login/second-factor", { passkey: signed }, ticket)).status).toBe(400);
    const [owner] = api.store.find(users, { email: ownEmail }, 1);
    const locked = await api.call("PUT", `/users/${owner?.id}`, { json: { lock: { start: null, end: null } } });
    expect(locked.status).toBe(200);
    expect((await logInWith(mallory.sign(await optionsFor("")))).status).toBe(401);
  });

  it.each([null, 1, "x", [], {}, { id: 5 }, { id: "x".repeat(5_000) }, { id: "unknown", response: {} }])(
    "is refused: %j",
    async (passkey) => {
      expect([400, 401]).toContain((await post("/api/login/passkey", { passkey })).status);
    },
  );

  it("is refused from another page, and needs a ticket as the second factor", async () => {
    const headers = { origin: "https://evil.example" };
    for (const path of ["passkey", "passkey-options", "second-factor/passkey-options"]) {
      const json = path === "passkey" ? { passkey: {} } : {};
      expect([path, (await api.call("POST", `/api/login/${path}`, { token: null, json, headers })).status]).toEqual([
        path,
        403,
      ]);
    }
    expect((await post("/api/login/second-factor/passkey-options")).status).toBe(401);
  });
});

describe("a security group that requires a second factor", () => {
  async function require(): Promise<string> {
    const group = await api.call("POST", "/security-groups", {
      json: { name: `Office ${serial}`, secondFactorRequired: true },
    });
    await api.call("POST", `/security-groups/${group.body.id}/members`, { json: { userId: id } });
    await api.call("POST", `/users/${id}/user-permissions`, { json: { verb: "get", spec: "/devices/*" } });
    return group.body.id;
  }
  const devices = (sent: string) => api.call("GET", "/devices", { token: null, headers: { cookie: sent } });

  it("leaves open sessions alone, and lets new ones do nothing but set up the factor", async () => {
    await require();
    expect((await devices(cookie)).status).toBe(200);
    const entered = await logIn();
    expect(entered.status).toBe(204);
    cookie = cookiesOf(entered);
    const session = await api.call("GET", "/session", { token: null, headers: { cookie } });
    expect(session.body.mustSetUpSecondFactor).toBe(true);
    expect((await devices(cookie)).status).toBe(403);
    expect((await asConsole("PUT", `/users/${id}/profile`, { name: "x" })).status).toBe(403);
    expect((await own("tokens", { name: "x" })).status).toBe(403);
    await add();
    expect((await devices(cookie)).status).toBe(200);
    const after = await api.call("GET", "/session", { token: null, headers: { cookie } });
    expect(after.body.mustSetUpSecondFactor).toBe(false);
    expect(api.store.find(userTokens, { userId: id, kind: "session" }).map(({ scope }) => scope)).toEqual([null]);
  });

  it("does not limit members that have a factor", async () => {
    const { passkey } = await add();
    await require();
    const entered = await logInWith(passkey.sign(await optionsFor("")));
    expect((await devices(cookiesOf(entered))).status).toBe(200);
  });
});
