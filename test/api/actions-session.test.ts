import { afterAll, beforeAll, describe, expect, it } from "vitest";
import users from "../../src/resources/people/users.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
});
afterAll(() => api.close());

describe("session", () => {
  it("says whose token it is, with the token, and what may be done to the session", async () => {
    const { status, body } = await api.call("GET", "/session");
    expect(status).toBe(200);
    expect(body).toEqual({
      accessToken: api.token,
      userId: api.adminId,
      providerId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      providerName: "built-in",
      providerDisplayName: "built-in",
      providerExpiration: null,
      logOutPath: null,
      email: "admin@example.org",
      name: "Admin",
      isOnprem: true,
      isLicenseValid: true,
      idleTimeout: 30,
      idleTimeoutCustom: false,
      mustSetUpSecondFactor: false,
      features: ["reporting", "onprem"],
      serverSupportedFeatures: ["reporting", "onprem", "failover", "callmgrEnabled"],
      permissions: ["get", "delete"],
    });
    expect(api.logText()).not.toContain(api.token);
  });

  it("shows the user's own idle time-out in minutes", async () => {
    const { id, token } = await api.user("Ann");
    await api.store.update(users, id, { idleTimeout: 45 }, api.system);
    expect((await api.call("GET", "/session", { token })).body).toMatchObject({
      idleTimeout: 45,
      idleTimeoutCustom: true,
      mustSetUpSecondFactor: false,
      email: null,
    });
  });

  it("lists the capabilities that clients can rely on, as extensions are switched on and off", async () => {
    const json = { name: "Calls", type: "device", deviceType: "phone-call" };
    const { id } = (await api.call("POST", "/extensions", { json })).body;
    const features = async () => (await api.call("GET", "/session")).body.features;
    expect(await features()).toEqual(["phoneCall", "reporting", "onprem"]);
    await api.call("PUT", `/extensions/${id}`, { json: { disabled: true } });
    expect(await features()).toEqual(["reporting", "onprem"]);
    const shown = (await api.call("GET", "/session")).body;
    expect(shown.serverSupportedFeatures).toContain("phoneCall");
    await api.call("DELETE", `/extensions/${id}`);
  });

  it("ends for its token alone", async () => {
    const { id, token } = await api.user("Bob");
    const other = await api.call("POST", `/users/${id}/tokens`, { json: { name: "second" } });
    const ended = await api.call("DELETE", "/session", { token });
    expect(ended.body).toEqual({
      status: 200,
      message: expect.stringMatching(/^deleted [0-9a-f-]{36}$/),
      resources: [{ id: expect.any(String) }],
    });
    expect((await api.call("GET", "/session", { token })).status).toBe(401);
    expect((await api.call("GET", "/session", { token: other.body.token })).status).toBe(200);
  });

  it("needs a token, and serves nothing but get and delete", async () => {
    expect((await api.call("GET", "/session", { token: null })).status).toBe(401);
    const put = await api.call("PUT", "/session", { json: {} });
    expect([put.status, put.headers.get("allow")]).toEqual([405, "DELETE, GET, HEAD, OPTIONS"]);
  });
});

describe("tokens of users", () => {
  it.each(["json", "form", "multipart"] as const)("are made from %s, and their value is shown once", async (kind) => {
    const { id } = await api.user("Cid");
    const given = { name: "script", expires: "2040-01-01T00:00:00.000Z" };
    const sent = kind === "json" ? { json: given } : { [kind]: Object.entries(given) };
    const made = await api.call("POST", `/users/${id}/tokens`, sent);
    expect(made.status).toBe(200);
    expect(made.body).toMatchObject({ userId: id, name: "script", expires: given.expires, type: "token" });
    const { token } = made.body;
    expect((await api.call("GET", "/session", { token })).body.userId).toBe(id);

    const one = await api.call("GET", `/users/${id}/tokens/${made.body.id}`);
    const list = await api.call("GET", `/users/${id}/tokens?name=script`);
    expect(one.body).toEqual({ ...made.body, token: undefined });
    expect(list.body).toMatchObject({ total: 1, partial: false, data: [{ id: made.body.id }] });
    expect(one.text + list.text + api.logText()).not.toContain(token);

    const gone = await api.call("DELETE", `/users/${id}/tokens/${made.body.id}`);
    expect(gone.body.message).toBe(`deleted ${made.body.id}`);
    expect((await api.call("GET", "/session", { token })).status).toBe(401);
  });

  it("expire after a year unless another expiry, or never, is given", async () => {
    const { id } = await api.user("Eve");
    const expiryOf = async (json: object) => (await api.call("POST", `/users/${id}/tokens`, { json })).body.expires;
    const before = Date.now();
    const usual = Date.parse(await expiryOf({ name: "n" })) - 365 * 86_400_000;
    expect([usual >= before, usual <= Date.now()]).toEqual([true, true]);
    expect(await expiryOf({ name: "n", expires: null })).toBeNull();
    expect(await expiryOf({ name: "n", expires: "2040-01-01T00:00:00Z" })).toBe("2040-01-01T00:00:00.000Z");
  });

  it("are valid only from their addresses, and show the last one used", async () => {
    const { id } = await api.user("Ada");
    const make = async (...addresses: string[]) =>
      api.call("POST", `/users/${id}/tokens`, { json: { name: "script", addresses } });
    const use = async (token: string) => (await api.call("GET", "/session", { token })).status;
    const everywhere = (await make()).body;
    const here = (await make("10.0.0.0/8", "127.0.0.0/8", "::1")).body;
    const elsewhere = (await make("192.0.2.0/24", "2001:db8::/32")).body;
    expect([await use(everywhere.token), await use(here.token), await use(elsewhere.token)]).toEqual([200, 200, 401]);
    expect([everywhere.addresses, here.addresses]).toEqual([[], ["10.0.0.0/8", "127.0.0.0/8", "::1"]]);
    for (const wrong of ["school.example", "10.0.0.0/33", "10.0.0.0/8/8", "2001:db8::/129", "10.0.0", "fe80::1%eth0"])
      expect((await make(wrong)).body.errors, wrong).toMatchObject([{ field: "addresses", type: "invalid-value" }]);
  });

  it("are limited by scopes, and a limited token creates no stronger one", async () => {
    const { id, token } = await api.user("Sue", "get /users/*", "post /users/*/tokens", "get /sites/*");
    const at = `/users/${id}/tokens`;
    const limited = await api.call("POST", at, {
      token,
      json: { name: "n", scope: "urn:service:users:read urn:service:users:write" },
    });
    expect(limited.body.scope).toBe("urn:service:users:read urn:service:users:write");
    const by = { token: limited.body.token };
    expect((await api.call("GET", "/sites", by)).status).toBe(403);
    const inherited = await api.call("POST", at, { ...by, json: { name: "n" } });
    expect(inherited.body.scope).toBe(limited.body.scope);
    for (const scope of ["urn:service:sites:read", "everything", "offline_access"])
      expect((await api.call("POST", at, { ...by, json: { name: "n", scope } })).body.errors).toMatchObject([
        { field: "scope" },
      ]);
  });

  it("are revoked all at once, with the sessions, by a user with at least the same permissions", async () => {
    const { id, token } = await api.user("Zoe");
    const more = (await api.call("POST", `/users/${id}/tokens`, { json: { name: "second" } })).body.token;
    const helper = await api.user("Hal", "post /users/*/access-revocation", "get /users/*");
    const all = `/users/${id}/access-revocation`;
    expect((await api.call("POST", `/users/${api.adminId}/access-revocation`, { token: helper.token })).status).toBe(
      403,
    );
    expect((await api.call("POST", all, { token })).status).toBe(403);
    expect((await api.call("POST", all, { token: helper.token })).body).toEqual({ revoked: 2 });
    const statuses = [token, more, helper.token].map(
      async (each) => (await api.call("GET", "/session", { token: each })).status,
    );
    expect(await Promise.all(statuses)).toEqual([401, 401, 200]);
  });

  it("are refused with errors, for other users and unknown users", async () => {
    const { id, token } = await api.user("Dee");
    const at = `/users/${id}/tokens`;
    expect((await api.call("POST", at, { json: {} })).body).toMatchObject({ status: 400, type: "required" });
    const past = await api.call("POST", at, { json: { name: "n", expires: "2001-01-01T00:00:00Z" } });
    expect(past.body).toMatchObject({ status: 400, errors: [{ field: "expires" }] });
    expect((await api.call("POST", at, { json: { name: "n" }, token })).status).toBe(403);
    const nobody = "00000000-0000-4000-8000-000000000000";
    expect((await api.call("POST", `/users/${nobody}/tokens`, { json: { name: "n" } })).status).toBe(404);
    expect((await api.call("GET", at, { token })).body.total).toBe(1);
  });

  it("never grant more than the caller's permissions", async () => {
    const { token } = await api.user("Max", "post /users/*/tokens", "get /users/*");
    const made = await api.call("POST", `/users/${api.adminId}/tokens`, { json: { name: "n" }, token });
    expect(made.status).toBe(403);
  });
});
