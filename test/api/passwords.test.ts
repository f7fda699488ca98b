import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { hashPassword } from "../../src/auth/passwords.ts";
import { createToken } from "../../src/auth/tokens.ts";
import userTokens from "../../src/resources/people/user-tokens.ts";
import users from "../../src/resources/people/users.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, FROZEN_CLOCK, openApi } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";
import { makePerson, PASSWORD } from "./oauth-fixture.ts";

const NEXT = "staple battery horse";

let api: ApiFixture;
let serial = 0;
let email: string;
let id: string;
beforeAll(async () => {
  api = await openApi(makeTempDir(), { clock: FROZEN_CLOCK });
});
beforeEach(async () => {
  serial += 1;
  email = `person${serial}@example.org`;
  id = await makePerson(api, email);
});
afterAll(() => api.close());

const logIn = (password: string, more: object = {}): Promise<ReceivedResponse> =>
  api.call("POST", "/api/login", { token: null, json: { email, password, ...more } });
const sessions = () => api.store.count(userTokens, { userId: id, kind: "session" });

/** A change by the user's own page of the console. */
async function change(json: object, cookie: string): Promise<ReceivedResponse> {
  const headers = { cookie, origin: new URL(api.base).origin, "x-carillon-console": "1" };
  return api.call("PUT", `/users/${id}/password`, { token: null, json, headers });
}

const cookieOf = ({ headers }: ReceivedResponse): string => (headers.get("set-cookie") ?? "").split(";")[0] as string;

describe("a user who must set a new password", () => {
  beforeEach(() => api.call("PUT", `/users/${id}`, { json: { passwordResetRequired: true } }));

  it("gets the prompt at log-in, after the right password", async () => {
    const asked = await logIn(PASSWORD);
    expect(asked.body).toMatchObject({ status: 400, type: "required", message: "Field newPassword is required." });
    expect([asked.headers.get("set-cookie"), sessions()]).toEqual([null, 0]);
    const wrong = await logIn("wrong horse", { newPassword: NEXT });
    expect([wrong.status, wrong.body.errors]).toEqual([401, []]);
  });

  it.each([
    ["the same one", PASSWORD],
    ["a short one", "short"],
  ])("does not get in with %s", async (_what, newPassword) => {
    const answer = await logIn(PASSWORD, { newPassword });
    expect(answer.body).toMatchObject({ type: "invalid-value", errors: [{ field: "newPassword" }] });
    expect([sessions(), api.store.get(users, id)?.passwordResetRequired]).toEqual([0, true]);
  });

  it("gets in with a new one, which counts from then on", async () => {
    expect((await logIn(PASSWORD, { newPassword: NEXT })).status).toBe(204);
    expect(api.store.get(users, id)).toMatchObject({ passwordResetRequired: false });
    expect((await logIn(PASSWORD)).status).toBe(401);
    expect((await logIn(NEXT)).status).toBe(204);
    expect(api.logText()).not.toContain(NEXT);
  });
});

describe("the user's password", () => {
  it("is changed with the current one, which ends other sessions and keeps this one", async () => {
    const mine = cookieOf(await logIn(PASSWORD));
    const other = cookieOf(await logIn(PASSWORD));
    const changed = await change({ password: NEXT, currentPassword: PASSWORD }, mine);
    expect([changed.status, changed.text]).toEqual([204, ""]);
    const status = async (cookie: string) =>
      (await api.call("GET", "/session", { token: null, headers: { cookie } })).status;
    expect([await status(mine), await status(other), await status(cookieOf(changed))]).toEqual([401, 401, 200]);
    expect([(await logIn(PASSWORD)).status, (await logIn(NEXT)).status]).toEqual([401, 204]);
  });

  it("ends permanent tokens, too, if that is asked for", async () => {
    const { token } = await createToken(api.store, id, { name: "Timetable" }, api.system);
    const holder = async () => (await api.call("GET", "/session", { token })).status;
    const cookie = cookieOf(await logIn(PASSWORD));
    const changed = await change({ password: NEXT, currentPassword: PASSWORD }, cookie);
    expect([changed.status, await holder()]).toEqual([204, 200]);
    const again = await change({ password: PASSWORD, currentPassword: NEXT, revokeTokens: true }, cookieOf(changed));
    expect([again.status, await holder()]).toEqual([204, 401]);
    const session = await api.call("GET", "/session", { token: null, headers: { cookie: cookieOf(again) } });
    expect(session.status).toBe(200);
  });

  it("is rejected with the reason if it is easy to guess or contains a name of the account", async () => {
    const cookie = cookieOf(await logIn(PASSWORD));
    const reasons = [];
    for (const password of ["Passw0rd1234", `${email.split("@")[0]} tulips`, "qwertyuiopas", "y".repeat(257)]) {
      const { status, body } = await change({ password, currentPassword: PASSWORD }, cookie);
      const [error] = body.errors;
      reasons.push([status, error?.field, error?.message, error?.reason]);
    }
    expect(reasons).toEqual([
      [
        ...[400, "password", expect.stringContaining("a common password")],
        { code: "password-weak-parts", params: { parts: ["common-password"] } },
      ],
      [
        ...[400, "password", expect.stringContaining("a name of this account")],
        { code: "password-name-of-account", params: { name: expect.any(String) } },
      ],
      [
        ...[400, "password", expect.stringContaining("too easy to guess")],
        { code: "password-weak-parts", params: { parts: expect.arrayContaining([expect.any(String)]) } },
      ],
      [400, "password", expect.stringContaining("256"), undefined],
    ]);
    expect((await logIn(PASSWORD)).status).toBe(204);
  });

  it("still logs in if it is shorter than the current rule", async () => {
    const passwordHash = await hashPassword("old pass");
    await api.store.update(users, id, {}, api.system, { passwordHash });
    expect((await logIn("old pass")).status).toBe(204);
  });

  it("stays with a wrong current one, none, or a new one that is too short", async () => {
    const cookie = cookieOf(await logIn(PASSWORD));
    const faults = [
      await change({ password: NEXT, currentPassword: "wrong horse" }, cookie),
      await change({ password: NEXT }, cookie),
      await change({ password: "short", currentPassword: PASSWORD }, cookie),
      await change({ currentPassword: PASSWORD }, cookie),
    ].map(({ status, body }) => [status, body.type, body.errors[0]?.field]);
    expect(faults).toEqual([
      [400, "invalid-value", "currentPassword"],
      [400, "required", "currentPassword"],
      [400, "invalid-value", "password"],
      [400, "required", "password"],
    ]);
    expect((await logIn(PASSWORD)).status).toBe(204);
  });

  it("cannot be guessed through the change", async () => {
    const cookie = cookieOf(await logIn(PASSWORD));
    for (let at = 0; at < 6; at++) await change({ password: NEXT, currentPassword: `wrong ${at}` }, cookie);
    expect((await change({ password: NEXT, currentPassword: PASSWORD }, cookie)).status).toBe(429);
  });
});

describe("another user's password", () => {
  it("is set by an administrator without the old one", async () => {
    await logIn(PASSWORD);
    expect((await api.call("PUT", `/users/${id}/password`, { json: { password: NEXT } })).status).toBe(204);
    expect(sessions()).toBe(0);
    expect((await logIn(NEXT)).status).toBe(204);
  });

  it("is refused without the permission, and for users with greater permissions", async () => {
    const json = { password: NEXT };
    const stranger = await api.user("Sid", "get /users/*");
    expect((await api.call("PUT", `/users/${id}/password`, { token: stranger.token, json })).status).toBe(403);
    const helper = await api.user("Hal", "get /users/*", "put /users/*/password");
    expect((await api.call("PUT", `/users/${id}/password`, { token: helper.token, json })).status).toBe(204);
    const admin = `/users/${api.adminId}/password`;
    expect((await api.call("PUT", admin, { token: helper.token, json })).status).toBe(403);
    expect(api.store.get(users, api.adminId)?.passwordHash).toBeNull();
  });
});
