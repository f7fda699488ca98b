import { afterAll, beforeAll, describe, expect, it } from "vitest";
import userTokens from "../../src/resources/people/user-tokens.ts";
import users from "../../src/resources/people/users.ts";
import applications from "../../src/resources/security/applications.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { type CreatedApplication, expectRefusal, makeApplication, makePerson, requestToken } from "./oauth-fixture.ts";

let api: ApiFixture;
let annId: string;
let providerId: string;
beforeAll(async () => {
  api = await openApi(makeTempDir());
  annId = await makePerson(api, "ann@example.org");
  providerId = (await api.call("GET", "/session")).body.providerId;
});
afterAll(() => api.close());

describe("client credentials", () => {
  let form: Record<string, string>;
  let app: CreatedApplication;
  beforeAll(async () => {
    app = await makeApplication(api, { type: "confidential", userId: annId, scopes: ["urn:service:users:read"] });
    form = { grant_type: "client_credentials", client_id: app.clientId, client_secret: app.clientSecret ?? "" };
    form.audience = providerId;
  });

  it("give a token that acts for the application's user, in the known form", async () => {
    const { status, body, headers } = await requestToken(api, form);
    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: expect.stringMatching(/^carillon_[\w-]{43}$/),
      token_type: "Bearer",
      scope: "urn:service:users:read",
      expires: 3600,
      expires_in: 3600,
    });
    expect([headers.get("cache-control"), headers.get("pragma")]).toEqual(["no-store", "no-cache"]);
    const mine = await api.call("GET", "/session", { token: body.access_token });
    expect(mine.body).toMatchObject({ userId: annId, accessToken: body.access_token });
    const [row] = api.store.find(userTokens, { userId: annId, client: app.clientId }, 1);
    expect(row).toMatchObject({ kind: "oauth", scope: "urn:service:users:read", applicationId: app.id });
    expect(JSON.stringify(row)).not.toContain(body.access_token);
    expect(api.logText()).not.toContain(body.access_token);
    expect(api.logText()).not.toContain(app.clientSecret);
  });

  it("are accepted from form, multipart, JSON, query and HTTP Basic", async () => {
    const pairs = Object.entries(form);
    const { client_id, client_secret, ...grant } = form;
    const basic = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString("base64")}`;
    const answers = [
      await api.call("POST", "/api/token", { token: null, multipart: pairs }),
      await api.call("POST", "/api/token", { token: null, json: form }),
      await api.call("POST", `/api/token?${new URLSearchParams(form)}`, { token: null }),
      await api.call("POST", `/api/token?${new URLSearchParams(grant)}`, {
        token: null,
        form: [
          ["client_id", client_id ?? ""],
          ["client_secret", client_secret ?? ""],
        ],
      }),
      await requestToken(api, grant, { headers: { authorization: basic } }),
    ];
    for (const { status, body } of answers) expect([status, body.token_type]).toEqual([200, "Bearer"]);
    expect(api.logText()).not.toContain(client_secret);
  });

  it.each([
    ["a wrong secret", { client_secret: "carillon_wrong" }, 401, "invalid_client"],
    ["no secret", { client_secret: "" }, 401, "invalid_client"],
    ["an unknown client", { client_id: "01a1ff93-ef31-72b2-9bc7-d5a47621d246" }, 401, "invalid_client"],
    ["a client id of another form", { client_id: "nobody" }, 401, "invalid_client"],
    ["another audience", { audience: "01a1ff93-ef31-72b2-9bc7-d5a47621d246" }, 400, "invalid_request"],
    ["a grant that there is not", { grant_type: "urn:other" }, 400, "unsupported_grant_type"],
    ["a grant that is served to nobody", { grant_type: "password" }, 400, "unauthorized_client"],
    ["no grant", { grant_type: "" }, 400, "invalid_request"],
    ["a scope of another form", { scope: "admin" }, 400, "invalid_scope"],
    ["more than it may ask for", { scope: "urn:service:users:write" }, 400, "invalid_scope"],
  ])("are refused with %s", async (_what, change, status, error) => {
    const answer = await requestToken(api, { ...form, ...change });
    expectRefusal(answer, status, error);
    if (status === 401) expect(answer.headers.get("www-authenticate")).toBe('Basic realm="carillon"');
  });

  it("are rejected if sent in two ways at once, in part, or without a body", async () => {
    const twice = { token: null, form: Object.entries(form) };
    expectRefusal(await api.call("POST", `/api/token?client_secret=x`, twice), 400, "invalid_request");
    const basic = { headers: { authorization: "Basic !" } };
    expectRefusal(await requestToken(api, { grant_type: "client_credentials" }, basic), 401, "invalid_client");
    expectRefusal(await api.call("POST", "/api/token", { token: null }), 401, "invalid_client");
    expectRefusal(
      await api.call("POST", "/api/token", { token: null, json: { ...form, scope: ["a"] } }),
      400,
      "invalid_request",
    );
    const broken = { token: null, body: "{", headers: { "content-type": "application/json" } };
    expectRefusal(await api.call("POST", "/api/token", broken), 400, "invalid_request");
  });

  it("are refused for public applications, applications without a user, and locked users", async () => {
    const open = await makeApplication(api);
    const asked = { grant_type: "client_credentials", client_id: open.clientId };
    expectRefusal(await requestToken(api, asked), 401, "invalid_client");
    const alone = await makeApplication(api, { type: "confidential" });
    const own = { ...asked, client_id: alone.clientId, client_secret: alone.clientSecret ?? "" };
    expectRefusal(await requestToken(api, own), 400, "unauthorized_client");
    await api.store.update(users, annId, { lock: { start: null, end: null } }, api.system);
    expectRefusal(await requestToken(api, form), 400, "invalid_grant");
    await api.store.update(users, annId, { lock: null }, api.system);
  });

  it("get a new secret, which ends the old one at once", async () => {
    const { body } = await api.call("POST", `/applications/${app.id}/rotate-secret`);
    expect(body.clientSecret).toMatch(/^carillon_/);
    expect(body.clientSecret).not.toBe(app.clientSecret);
    expectRefusal(await requestToken(api, form), 401, "invalid_client");
    expect((await requestToken(api, { ...form, client_secret: body.clientSecret })).status).toBe(200);
    const row = api.store.get(applications, app.id);
    expect(JSON.stringify(row)).not.toContain(body.clientSecret);
    const open = await makeApplication(api);
    expect((await api.call("POST", `/applications/${open.id}/rotate-secret`)).status).toBe(409);
  });
});

describe("applications", () => {
  it.each([
    ["a fragment", "https://app.example.org/#x"],
    ["plain HTTP to elsewhere", "http://app.example.org/back"],
    ["a script", "javascript:alert(1)"],
    ["data", "data:text/html,x"],
    ["a scheme without a dot", "myapp:/back"],
    ["no scheme", "/back"],
    ["credentials", "https://user:secret@app.example.org/"],
    ["a line break", "https://app.example.org/\nx"],
    ["a backslash", "https://app.example.org\\@evil.example.org/"],
  ])("are not sent back to an address with %s", async (_what, uri) => {
    const made = await api.call("POST", "/applications", { json: { name: "Odd", redirectUris: [uri] } });
    expect([made.status, made.body.errors?.[0]?.field]).toEqual([400, "redirectUris"]);
  });

  it.each(["https://app.example.org/back", "http://127.0.0.1:8123/back", "http://[::1]/x", "org.example.app:/back"])(
    "are sent back to %s",
    async (uri) => {
      const app = await makeApplication(api, { redirectUris: [uri] });
      expect(api.store.get(applications, app.id)?.redirectUris).toEqual([uri]);
    },
  );

  it("show no secret but once, and take no scope that is none", async () => {
    const app = await makeApplication(api, { type: "confidential" });
    const shown = await api.call("GET", `/applications/${app.id}`);
    expect(shown.body).toMatchObject({ clientId: app.id, secretCreatedAt: expect.any(String) });
    expect(shown.text).not.toMatch(/secretHash|clientSecret/);
    const wrong = await api.call("PUT", `/applications/${app.id}`, { json: { scopes: ["everything"] } });
    expect([wrong.status, wrong.body.errors?.[0]?.field]).toEqual([400, "scopes"]);
  });

  it("can be changed only by users with at least the permissions of their user", async () => {
    const app = await makeApplication(api, { type: "confidential", userId: api.adminId });
    const grants = ["post /applications", "put /applications/*", "get /applications/*", "delete /applications/*"];
    const { token } = await api.user("Cleo", ...grants, "post /applications/*/rotate-secret");
    const json = { name: "Mine", userId: api.adminId };
    expect((await api.call("POST", "/applications", { token, json })).status).toBe(403);
    expect((await api.call("PUT", `/applications/${app.id}`, { token, json: { name: "X" } })).status).toBe(403);
    expect((await api.call("POST", `/applications/${app.id}/rotate-secret`, { token })).status).toBe(403);
    expect((await api.call("DELETE", `/applications/${app.id}`, { token })).status).toBe(403);
    expect((await api.call("POST", "/applications", { token, json: { name: "Cleo's" } })).status).toBe(200);
  });
});
