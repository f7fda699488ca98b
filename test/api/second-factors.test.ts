import { TOTP } from "otpauth";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import secondFactors from "../../src/resources/people/second-factors.ts";
import userTokens from "../../src/resources/people/user-tokens.ts";
import auditEntries from "../../src/resources/security/audit-entries.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";
import {
  authorizeParameters,
  createPkcePair,
  makeApplication,
  makePerson,
  openAuthorize,
  PASSWORD,
  submit,
} from "./oauth-fixture.ts";

let api: ApiFixture;
let serial = 0;
let email: string;
let id: string;
beforeAll(async () => {
  api = await openApi(makeTempDir());
});
beforeEach(async () => {
  serial += 1;
  email = `person${serial}@example.org`;
  id = await makePerson(api, email);
});
afterAll(() => api.close());

const cookiesOf = ({ headers }: ReceivedResponse): string =>
  headers
    .getSetCookie()
    .map((each) => each.split(";")[0])
    .join("; ");
const post = (path: string, json: object, cookie = ""): Promise<ReceivedResponse> =>
  api.call("POST", path, { token: null, json, headers: { cookie } });
const logIn = () => post("/api/login", { email, password: PASSWORD });
const complete = (ticket: string, code: string) => post("/api/login/second-factor", { code }, ticket);
const sessions = () => api.store.count(userTokens, { userId: id, kind: "session" });
const statusOf = async (cookie: string) =>
  (await api.call("GET", "/session", { token: null, headers: { cookie } })).status;
/** The code after the present one, which is accepted too, so that it was not used yet. */
const nextCode = (secret: string) => new TOTP({ secret }).generate({ timestamp: Date.now() + 30_000 });

/** A change by the user's own page of the console. */
function own(path: string, json: object, cookie: string, userId = id): Promise<ReceivedResponse> {
  const headers = { cookie, origin: new URL(api.base).origin, "x-carillon-console": "1" };
  return api.call("POST", `/users/${userId}/${path}`, { token: null, json, headers });
}

async function enrol(): Promise<{ cookie: string; secret: string; recoveryCodes: string[] }> {
  const cookie = cookiesOf(await logIn());
  const { secret, uri } = (await own("authenticator-app", { currentPassword: PASSWORD }, cookie)).body;
  expect(uri).toContain(`secret=${secret}`);
  const code = new TOTP({ secret }).generate();
  const { recoveryCodes } = (await own("authenticator-app/confirmation", { code }, cookie)).body;
  return { cookie, secret, recoveryCodes };
}

describe("the user's second factor", () => {
  it("is set up with the password and a code, and listed without its key", async () => {
    const { cookie, secret, recoveryCodes } = await enrol();
    expect(recoveryCodes).toHaveLength(10);
    const shown = await api.call("GET", `/users/${id}/second-factors`, { token: null, headers: { cookie } });
    expect(
      shown.body.data.map(({ kind, codesLeft }: { kind: string; codesLeft: number }) => [kind, codesLeft]),
    ).toEqual([
      ["totp", null],
      ["recovery-codes", 10],
    ]);
    const [{ id: factorId }] = shown.body.data;
    const one = await api.call("GET", `/users/${id}/second-factors/${factorId}`);
    expect([one.status, one.body.id]).toEqual([200, factorId]);
    for (const { text } of [shown, one]) {
      expect(text).not.toContain(secret);
      expect(text).not.toMatch(/v1:|secret|hash/i);
    }
    expect(api.logText()).not.toContain(secret);
  });

  it("requires the right password to begin, and the right code and key to confirm", async () => {
    const cookie = cookiesOf(await logIn());
    const wrong = await own("authenticator-app", { currentPassword: "wrong horse" }, cookie);
    expect(wrong.body).toMatchObject({ status: 400, errors: [{ field: "currentPassword" }] });
    expect((await own("authenticator-app/confirmation", { code: "123456" }, cookie)).status).toBe(409);
    const { secret } = (await own("authenticator-app", { currentPassword: PASSWORD }, cookie)).body;
    const code = new TOTP({ secret }).generate({ timestamp: 0 });
    expect((await own("authenticator-app/confirmation", { code }, cookie)).body.errors).toMatchObject([
      { field: "code" },
    ]);
    expect((await logIn()).status).toBe(204);
  });

  it("cannot be set up for another user, not even by an administrator", async () => {
    const json = { currentPassword: PASSWORD };
    for (const path of [
      "authenticator-app",
      "authenticator-app/confirmation",
      "recovery-codes",
      "second-factor-removal",
    ]) {
      const body = path === "authenticator-app" ? json : { code: "123456" };
      expect([path, (await api.call("POST", `/users/${id}/${path}`, { json: body })).status]).toEqual([path, 403]);
    }
    const other = await api.user("Other");
    const asked = { token: other.token, json };
    expect([403, 404]).toContain((await api.call("POST", `/users/${id}/authenticator-app`, asked)).status);
    expect([403, 404]).toContain((await api.call("GET", `/users/${id}/second-factors`, { token: other.token })).status);
  });

  it("gives new recovery codes, which end the former ones, for a code or the password", async () => {
    const { cookie, secret, recoveryCodes } = await enrol();
    expect((await own("recovery-codes", {}, cookie)).body.errors).toMatchObject([{ field: "code" }]);
    const renewed = await own("recovery-codes", { code: nextCode(secret) }, cookie);
    expect(renewed.body.recoveryCodes).toHaveLength(10);
    const ticket = cookiesOf(await logIn());
    expect((await complete(ticket, recoveryCodes[0] as string)).status).toBe(400);
    expect((await complete(ticket, renewed.body.recoveryCodes[0])).status).toBe(204);
  });

  it("is removed only with the password or a code", async () => {
    const { cookie, recoveryCodes } = await enrol();
    expect((await own("second-factor-removal", {}, cookie)).status).toBe(400);
    expect((await own("second-factor-removal", { currentPassword: "wrong horse" }, cookie)).status).toBe(400);
    expect((await own("second-factor-removal", { code: "no code" }, cookie)).status).toBe(400);
    expect((await own("second-factor-removal", { code: recoveryCodes[9] }, cookie)).status).toBe(204);
    expect([(await logIn()).status, api.store.count(secondFactors, { userId: id })]).toEqual([204, 0]);
  });
});

describe("a log-in with a second factor", () => {
  it("takes two steps; the first one gives no session", async () => {
    const { secret } = await enrol();
    const before = sessions();
    const first = await logIn();
    expect([first.status, first.body]).toEqual([200, { secondFactors: ["totp", "recovery-codes"] }]);
    const [cookie] = first.headers.getSetCookie();
    expect(cookie).toMatch(/^carillon-login=\S+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=300$/);
    const ticket = cookiesOf(first);
    expect([sessions(), await statusOf(ticket)]).toEqual([before, 401]);
    // The ticket is no session, whatever cookie or header it is sent as.
    const value = ticket.split("=")[1] as string;
    expect(await statusOf(`carillon=${value}`)).toBe(401);
    expect((await api.call("GET", "/session", { token: value })).status).toBe(401);

    const second = await complete(ticket, nextCode(secret));
    expect(second.status).toBe(204);
    expect(second.headers.getSetCookie().map((each) => each.split("=")[0])).toEqual([
      "carillon",
      "carillon-login",
      "carillon-browser",
    ]);
    expect([await statusOf(cookiesOf(second)), sessions()]).toEqual([200, before + 1]);
    expect((await complete(ticket, nextCode(secret))).status).toBe(401);
  });

  it("needs the ticket of the same browser", async () => {
    const { secret } = await enrol();
    await logIn();
    for (const cookie of ["", "carillon-login=", "carillon-login=carillon_invented", "carillon-browser=x"]) {
      const refused = await complete(cookie, nextCode(secret));
      expect([refused.status, refused.body.message]).toEqual([
        401,
        "The log-in has expired. Log in again with your password.",
      ]);
    }
  });

  it("reveals nothing of second factors without the right password", async () => {
    const wrong = { email, password: "wrong horse" };
    const before = await post("/api/login", wrong);
    await enrol();
    const after = await post("/api/login", wrong);
    const { requestId: _one, ...plain } = before.body;
    const { requestId: _other, ...protectedByFactor } = after.body;
    expect(protectedByFactor).toEqual(plain);
    expect(after.headers.getSetCookie()).toEqual([]);
  });

  it.each([{}, { code: "" }, { code: 123456 }, { code: null }, { code: ["1"] }, { code: "1".repeat(65) }])(
    "answers %j with 400",
    async (json) => {
      await enrol();
      expect((await post("/api/login/second-factor", json, cookiesOf(await logIn()))).status).toBe(400);
    },
  );

  it("is refused from another origin", async () => {
    await enrol();
    const headers = { cookie: cookiesOf(await logIn()), origin: "https://evil.example" };
    const answer = await api.call("POST", "/api/login/second-factor", { token: null, json: { code: "1" }, headers });
    expect(answer.status).toBe(403);
  });
});

describe("the authorize page", () => {
  it("asks for the code before it starts a session, and for the password again when the ticket has ended", async () => {
    const { secret } = await enrol();
    const before = sessions();
    const parameters = authorizeParameters(await makeApplication(api), createPkcePair());
    const asked = await submit(api, await openAuthorize(api, parameters), { email, password: PASSWORD });
    expect(asked.text).toContain('name="code"');
    expect([asked.status, sessions()]).toEqual([200, before]);
    const ticket = asked.headers
      .getSetCookie()
      .map((each) => each.split(";")[0])
      .join("; ");
    expect(ticket).toMatch(/^carillon-login=/);
    // Without the code the application gets nothing.
    const skipped = await openAuthorize(api, parameters, { cookie: ticket });
    expect(skipped.text).toContain('name="password"');
    const allowed = await submit(api, asked, { decision: "allow" }, { cookie: ticket });
    expect([allowed.location, sessions()]).toEqual([null, before]);

    const wrong = await submit(api, asked, { code: "no code" }, { cookie: ticket });
    expect([wrong.status, wrong.text.includes("The code is not correct")]).toEqual([400, true]);
    const entered = await submit(api, wrong, { code: nextCode(secret) }, { cookie: ticket });
    expect([entered.status, sessions()]).toEqual([303, before + 1]);
    const consent = await openAuthorize(api, parameters, { cookie: entered.cookie ?? "" });
    expect(consent.text).toContain('value="allow"');

    const late = await submit(api, asked, { code: nextCode(secret) }, { cookie: ticket });
    expect(late.text).toContain("The log-in has expired");
    expect(late.text).toContain('name="password"');
  });
});

describe("another user's second factor", () => {
  it("is removed by an administrator, which ends the user's sessions and is audited", async () => {
    const { cookie } = await enrol();
    expect(await statusOf(cookie)).toBe(200);
    const removed = await api.call("POST", `/users/${id}/second-factor-reset`);
    expect([removed.status, await statusOf(cookie), (await logIn()).status]).toEqual([204, 401, 204]);
    const entries = api.store.find(auditEntries, { resource: "second-factors", op: "delete" }, 1_000).slice(-2);
    expect(entries.map(({ actorId }) => actorId)).toEqual([api.adminId, api.adminId]);
    expect((await api.call("POST", `/users/${id}/second-factor-reset`)).status).toBe(404);
  });

  it("requires the permission and at least the user's permissions, and another user's account", async () => {
    const { cookie } = await enrol();
    const helper = await api.user("Helper", "get /users/*", "post /users/*/second-factor-reset");
    const removeAs = (token: string, userId = id) =>
      api.call("POST", `/users/${userId}/second-factor-reset`, { token });
    expect((await removeAs((await api.user("Reader", "get /users/*")).token)).status).toBe(403);
    await api.call("POST", `/users/${id}/user-permissions`, { json: { verb: "put", spec: "/devices/*" } });
    expect((await removeAs(helper.token)).status).toBe(403);
    const headers = { cookie, origin: new URL(api.base).origin, "x-carillon-console": "1" };
    await api.call("POST", `/users/${id}/user-permissions`, {
      json: { verb: "post", spec: "/users/*/second-factor-reset" },
    });
    const ownWay = await api.call("POST", `/users/${id}/second-factor-reset`, { token: null, headers });
    expect([ownWay.status, ownWay.body.message]).toEqual([
      403,
      "Your own second factors are removed with POST /users/{userId}/second-factor-removal.",
    ]);
    expect(api.store.count(secondFactors, { userId: id })).toBe(2);
  });

  it("raises the alarm of security changes when it is removed from a super user", async () => {
    await enrol();
    const groups = (await api.call("GET", "/security-groups")).body.data;
    const { id: groupId } = groups.find(({ superGroup }: { superGroup: boolean }) => superGroup);
    await api.call("POST", `/security-groups/${groupId}/members`, { json: { userId: id } });
    await api.call("POST", `/users/${id}/second-factor-reset`);
    const changes = api.store.find(auditEntries, { op: "trust-change", rowId: id }, 100);
    expect(changes.map(({ details }) => details)).toEqual([
      { change: `The second factor of ${email.split("@")[0]} was removed.` },
    ]);
  });
});
