import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { ConflictError } from "../../src/lib/errors.ts";
import type { NotificationService } from "../../src/notifications/notification-service.ts";
import { defaultSettings } from "../../src/settings/schema.ts";
import { createSoftPasskey } from "../support/soft-passkey.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";
import { makePerson, PASSWORD } from "./oauth-fixture.ts";

const ORIGIN = "https://bells.example.org";
const MINUTE = 60_000;
const REASON = { code: "confirmation-required", params: {} };

/** Refuses what has reached it in its own way. */
const notificationService = {
  send: async () => {
    throw new ConflictError("sent");
  },
} as unknown as NotificationService;

let api: ApiFixture;
let ahead = 0;
let serial = 0;
let id: string;
let cookie: string;
beforeAll(async () => {
  const settings = { ...defaultSettings(), api: { ...defaultSettings().api, publicUrl: ORIGIN } };
  const clock = {
    ...systemClock,
    now: () => systemClock.now() + ahead,
    monotonicMs: () => systemClock.monotonicMs() + ahead,
  };
  api = await openApi(makeTempDir(), { clock, needs: { settings, notificationService } });
});
beforeEach(async () => {
  ahead += 20 * MINUTE;
  serial += 1;
  const email = `person${serial}@example.org`;
  id = await makePerson(api, email);
  const groups = (await api.call("GET", "/security-groups")).body.data;
  const { id: groupId } = groups.find(({ superGroup }: { superGroup: boolean }) => superGroup);
  await api.call("POST", `/security-groups/${groupId}/members`, { json: { userId: id } });
  const entered = await api.call("POST", "/api/login", { token: null, json: { email, password: PASSWORD } });
  cookie = entered.headers
    .getSetCookie()
    .map((each) => each.split(";")[0])
    .join("; ");
});
afterAll(() => api.close());

function asConsole(method: string, path: string, json: object = {}): Promise<ReceivedResponse> {
  const headers = { cookie, origin: new URL(api.base).origin, "x-carillon-console": "1" };
  return api.call(method, path, { token: null, json, headers });
}
const confirm = (json: object) => asConsole("POST", "/session/confirmation", json);
const isAsked = ({ body }: ReceivedResponse) => body.errors?.[0]?.reason?.code === REASON.code;
const addGroup = () => asConsole("POST", "/security-groups", { name: `Group ${serial} ${Math.floor(ahead / MINUTE)}` });

describe("a change of trust", () => {
  it("needs a log-in or a confirmation within the last quarter of an hour", async () => {
    expect((await addGroup()).status).toBe(200);
    ahead += 15 * MINUTE - 1_000;
    expect((await addGroup()).status).toBe(200);
    ahead += 2_000;
    const refused = await addGroup();
    expect(refused.body).toMatchObject({
      ...{ status: 403, type: "forbidden", errors: [{ field: null, type: "forbidden", reason: REASON }] },
      message: "Confirm that it is you with POST /session/confirmation, then repeat the request.",
    });
    expect((await confirm({ currentPassword: "wrong horse" })).body.errors).toMatchObject([
      { field: "currentPassword" },
    ]);
    expect((await confirm({})).status).toBe(400);
    expect(isAsked(await addGroup())).toBe(true);
    expect((await confirm({ currentPassword: PASSWORD })).status).toBe(204);
    expect((await addGroup()).status).toBe(200);
  });

  it("is confirmed by a passkey of the user", async () => {
    const passkey = createSoftPasskey(ORIGIN);
    const created = passkey.create((await asConsole("POST", `/users/${id}/passkey-options`)).body);
    const added = await asConsole("POST", `/users/${id}/passkeys`, { name: "Phone", passkey: created });
    expect([added.status, added.text]).toEqual([200, expect.stringContaining("recoveryCodes")]);
    ahead += 16 * MINUTE;
    const options = (await asConsole("POST", "/session/passkey-options")).body;
    expect((await confirm({ passkey: passkey.sign(options, { origin: "https://evil.example" }) })).status).toBe(400);
    expect(isAsked(await addGroup())).toBe(true);
    const signed = passkey.sign(options);
    const confirmed = await confirm({ passkey: signed });
    expect([confirmed.status, confirmed.text]).toEqual([204, ""]);
    expect((await addGroup()).status).toBe(200);
    expect((await confirm({ passkey: signed })).status).toBe(400);
  });

  it.each<[string, string, object?]>([
    ["POST", "/link", { url: "https://cloud.example.org", code: "x" }],
    ["DELETE", "/link"],
    ["PUT", "/certificate"],
    ["DELETE", "/certificate"],
    ["PUT", "/licence"],
    ["POST", "/security-groups", { name: "x" }],
    ["POST", "/identity-providers", { name: "x", type: "ldap" }],
    ["POST", "/scim-tokens", { name: "x" }],
    ["POST", "/applications", { name: "x" }],
    ["POST", "/users/ADMIN/tokens", { name: "x" }],
    ["POST", "/users/OWN/tokens", { name: "x" }],
    ["POST", "/users/OWN/user-permissions", { verb: "get", spec: "/devices/*" }],
    ["POST", "/users/OWN/passkey-options"],
    ["POST", "/users/ADMIN/second-factor-reset"],
    ["PUT", "/users/ADMIN/password", { password: "correct horse battery staple" }],
    ["PUT", "/users/OWN", { breakGlass: true }],
    ["POST", "/users", { name: "x", email: "x@example.org", breakGlass: true }],
    ["POST", "/callmgr-clusters", { name: "x" }],
  ])("is asked for in an old session: %s %s", async (method, path, json = {}) => {
    const at = path.replace("OWN", id).replace("ADMIN", api.adminId);
    ahead += 16 * MINUTE;
    const refused = await asConsole(method, at, json);
    expect([refused.status, isAsked(refused)]).toEqual([403, true]);
  });

  it("is not asked for with a token, nor for a dry run", async () => {
    ahead += 16 * MINUTE;
    expect((await asConsole("POST", "/security-groups?dryRun=true", { name: "Dry" })).status).toBe(200);
    const created = await api.call("POST", "/security-groups", { json: { name: `By token ${serial}` } });
    expect(created.status).toBe(200);
    const refused = await api.call("POST", "/session/confirmation", { json: { currentPassword: PASSWORD } });
    expect(refused.status).toBe(409);
  });
});

describe("an old session", () => {
  it("sends an emergency, reads and changes ordinary things, and takes tokens away without a question", async () => {
    const json = { name: `Lockdown ${serial}`, subject: "Lockdown", body: "Lock the doors.", priority: "emergency" };
    const template = await asConsole("POST", "/message-templates", json);
    const token = await asConsole("POST", `/users/${id}/tokens`, { name: "x" });
    ahead += 25 * MINUTE;
    expect((await asConsole("PUT", `/users/${id}/profile`, { name: "Ann" })).status).toBe(200);
    const sent = await asConsole("POST", "/notifications", { messageTemplateId: template.body.id, userIds: [id] });
    expect(sent.body).toMatchObject({ status: 409, message: "sent" });
    expect((await asConsole("DELETE", `/users/${id}/tokens/${token.body.id}`)).status).toBe(200);
    expect(isAsked(await addGroup())).toBe(true);
  });
});
