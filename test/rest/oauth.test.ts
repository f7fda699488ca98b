import { afterAll, beforeAll, describe, expect, it } from "vitest";
import userTokens from "../../src/resources/people/user-tokens.ts";
import users from "../../src/resources/people/users.ts";
import applications from "../../src/resources/security/applications.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi, type Received } from "./api-fixture.ts";
import {
  allow,
  askToken,
  authorizeParameters,
  BACK,
  type MadeApplication,
  makeApplication,
  makePerson,
  newProof,
  openAuthorize,
} from "./oauth-scene.ts";

const ANN = "ann@example.org";

let api: ApiFixture;
let annId: string;
let providerId: string;
beforeAll(async () => {
  api = await openApi(makeTempDir());
  annId = await makePerson(api, ANN);
  providerId = (await api.call("GET", "/session")).body.providerId;
});
afterAll(() => api.close());

const session = async (token: string) => (await api.call("GET", "/session", { token })).status;

function expectRefusal(answer: Received, status: number, error: string): void {
  expect([answer.status, answer.body.error]).toEqual([status, error]);
  expect(answer.body).toMatchObject({ status, type: expect.any(String), message: expect.any(String) });
  expect(answer.body.error_description).toBe(answer.body.message);
  expect(answer.body.requestId).toBe(answer.headers.get("x-request-id"));
  expect(answer.headers.get("cache-control")).toBe("no-store");
}

/** A code for `app`, and what is needed to exchange it. */
async function newCode(app: MadeApplication, scope = "urn:service:users:read offline_access") {
  const proof = newProof();
  const back = await allow(api, authorizeParameters(app, proof, { scope }), ANN);
  const code = back.searchParams.get("code") ?? "";
  const form = { grant_type: "authorization_code", client_id: app.clientId, redirect_uri: BACK, code };
  return { back, code, form: { ...form, code_verifier: proof.verifier } };
}

function refresh(app: MadeApplication, token: string, more: Record<string, string> = {}): Promise<Received> {
  return askToken(api, { grant_type: "refresh_token", client_id: app.clientId, refresh_token: token, ...more });
}

describe("client credentials", () => {
  let form: Record<string, string>;
  let app: MadeApplication;
  beforeAll(async () => {
    app = await makeApplication(api, { type: "confidential", userId: annId, scopes: ["urn:service:users:read"] });
    form = { grant_type: "client_credentials", client_id: app.clientId, client_secret: app.clientSecret ?? "" };
    form.audience = providerId;
  });

  it("give a token that acts for the application's user, in the known form", async () => {
    const { status, body, headers } = await askToken(api, form);
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
    expect(api.logged()).not.toContain(body.access_token);
    expect(api.logged()).not.toContain(app.clientSecret);
  });

  it("are taken from form, multipart, JSON, query and HTTP Basic alike", async () => {
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
      await askToken(api, grant, { headers: { authorization: basic } }),
    ];
    for (const { status, body } of answers) expect([status, body.token_type]).toEqual([200, "Bearer"]);
    expect(api.logged()).not.toContain(client_secret);
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
    const answer = await askToken(api, { ...form, ...change });
    expectRefusal(answer, status, error);
    if (status === 401) expect(answer.headers.get("www-authenticate")).toBe('Basic realm="carillon"');
  });

  it("are refused in two ways at once, in pieces, and without a body", async () => {
    const twice = { token: null, form: Object.entries(form) };
    expectRefusal(await api.call("POST", `/api/token?client_secret=x`, twice), 400, "invalid_request");
    const basic = { headers: { authorization: "Basic !" } };
    expectRefusal(await askToken(api, { grant_type: "client_credentials" }, basic), 401, "invalid_client");
    expectRefusal(await api.call("POST", "/api/token", { token: null }), 401, "invalid_client");
    expectRefusal(
      await api.call("POST", "/api/token", { token: null, json: { ...form, scope: ["a"] } }),
      400,
      "invalid_request",
    );
    const broken = { token: null, body: "{", headers: { "content-type": "application/json" } };
    expectRefusal(await api.call("POST", "/api/token", broken), 400, "invalid_request");
  });

  it("are not for public applications nor for those without a user, nor while the user is locked", async () => {
    const open = await makeApplication(api);
    const asked = { grant_type: "client_credentials", client_id: open.clientId };
    expectRefusal(await askToken(api, asked), 401, "invalid_client");
    const alone = await makeApplication(api, { type: "confidential" });
    const own = { ...asked, client_id: alone.clientId, client_secret: alone.clientSecret ?? "" };
    expectRefusal(await askToken(api, own), 400, "unauthorized_client");
    await api.store.update(users, annId, { lock: { start: null, end: null } }, api.system);
    expectRefusal(await askToken(api, form), 400, "invalid_grant");
    await api.store.update(users, annId, { lock: null }, api.system);
  });

  it("get a new secret, which ends the old one at once", async () => {
    const { body } = await api.call("POST", `/applications/${app.id}/rotate-secret`);
    expect(body.clientSecret).toMatch(/^carillon_/);
    expect(body.clientSecret).not.toBe(app.clientSecret);
    expectRefusal(await askToken(api, form), 401, "invalid_client");
    expect((await askToken(api, { ...form, client_secret: body.clientSecret })).status).toBe(200);
    const row = api.store.get(applications, app.id);
    expect(JSON.stringify(row)).not.toContain(body.clientSecret);
    const open = await makeApplication(api);
    expect((await api.call("POST", `/applications/${open.id}/rotate-secret`)).status).toBe(409);
  });
});

describe("a code", () => {
  let app: MadeApplication;
  beforeAll(async () => {
    app = await makeApplication(api);
  });

  it("is exchanged for an access token and, with offline_access, a refresh token", async () => {
    const { back, form } = await newCode(app);
    expect(back.href.startsWith(BACK)).toBe(true);
    expect(back.searchParams.get("state")).toBe("a b&c");
    const { status, body } = await askToken(api, form);
    expect(status).toBe(200);
    expect(body).toMatchObject({ scope: "urn:service:users:read offline_access", refresh_token: expect.any(String) });
    expect(await session(body.access_token)).toBe(200);
    expect(await session(body.refresh_token)).toBe(401);
    expect(await session(form.code)).toBe(401);
  });

  it("gives no refresh token that nobody asked for", async () => {
    const { form } = await newCode(app, "urn:service:users:read");
    expect((await askToken(api, form)).body).not.toHaveProperty("refresh_token");
  });

  it("is good once: its second use is refused and revokes what came of the first", async () => {
    const { form } = await newCode(app);
    const { body } = await askToken(api, form);
    expectRefusal(await askToken(api, form), 400, "invalid_grant");
    expect(await session(body.access_token)).toBe(401);
    expectRefusal(await refresh(app, body.refresh_token), 400, "invalid_grant");
  });

  it("is good for one of many parallel exchanges", async () => {
    const { form } = await newCode(app);
    const answers = await Promise.all(Array.from({ length: 8 }, () => askToken(api, form)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefusal(answer, 400, "invalid_grant");
  });

  it.each([
    ["another verifier", { code_verifier: newProof().verifier }, "invalid_grant"],
    ["no verifier", { code_verifier: "" }, "invalid_grant"],
    ["another redirect_uri", { redirect_uri: "https://app.example.org/back" }, "invalid_request"],
    ["no redirect_uri", { redirect_uri: "" }, "invalid_request"],
    ["another code", { code: "carillon_other" }, "invalid_grant"],
    ["no code", { code: "" }, "invalid_request"],
  ])("is refused with %s", async (_what, change, error) => {
    const { form } = await newCode(app);
    expectRefusal(await askToken(api, { ...form, ...change }), 400, error);
  });

  it("is spent by a wrong verifier, and refused to another application", async () => {
    const { form } = await newCode(app);
    await askToken(api, { ...form, code_verifier: newProof().verifier });
    expectRefusal(await askToken(api, form), 400, "invalid_grant");
    const stolen = await newCode(app);
    const other = await makeApplication(api);
    expectRefusal(await askToken(api, { ...stolen.form, client_id: other.clientId }), 400, "invalid_grant");
  });

  it("of a confidential application asks for its secret, PKCE or not", async () => {
    const shop = await makeApplication(api, { type: "confidential" });
    const parameters = { response_type: "code", client_id: shop.clientId, redirect_uri: BACK };
    const code = (await allow(api, parameters, ANN)).searchParams.get("code") ?? "";
    const form = { grant_type: "authorization_code", client_id: shop.clientId, redirect_uri: BACK, code };
    expectRefusal(await askToken(api, form), 401, "invalid_client");
    const answer = await askToken(api, { ...form, client_secret: shop.clientSecret ?? "" });
    expect([answer.status, answer.body.scope, answer.body.expires_in]).toEqual([200, "", 43_200]);
  });
});

describe("a refresh token", () => {
  let app: MadeApplication;
  beforeAll(async () => {
    app = await makeApplication(api);
  });
  const first = async () => (await askToken(api, (await newCode(app)).form)).body;

  it("is exchanged for a new pair, again and again", async () => {
    let pair = await first();
    const seen = new Set<string>();
    for (let round = 0; round < 3; round++) {
      const { status, body } = await refresh(app, pair.refresh_token);
      expect(status).toBe(200);
      expect(body.scope).toBe("urn:service:users:read offline_access");
      expect(await session(body.access_token)).toBe(200);
      seen.add(body.refresh_token);
      pair = body;
    }
    expect(seen.size).toBe(3);
  });

  it("may ask for less, which the next one need not, and never for more", async () => {
    const less = await refresh(app, (await first()).refresh_token, { scope: "urn:service:users:read" });
    expect([less.status, less.body.scope]).toEqual([200, "urn:service:users:read"]);
    const { body } = await refresh(app, less.body.refresh_token);
    expect(body.scope).toBe("urn:service:users:read offline_access");
    expectRefusal(await refresh(app, body.refresh_token, { scope: "urn:service:users:write" }), 400, "invalid_scope");
    expect((await refresh(app, body.refresh_token)).status).toBe(200);
  });

  it("is good for one of many parallel exchanges, whose pair outlives the stragglers", async () => {
    const { refresh_token } = await first();
    const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(app, refresh_token)));
    const [won, ...more] = answers.filter(({ status }) => status === 200);
    expect(more).toEqual([]);
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefusal(answer, 400, "invalid_grant");
    expectRefusal(await refresh(app, refresh_token), 400, "invalid_grant");
    expect(await session(won?.body.access_token)).toBe(200);
    expect((await refresh(app, won?.body.refresh_token)).status).toBe(200);
  });

  it("alone gives a token with no rights at all", async () => {
    const { body } = await askToken(api, (await newCode(app, "offline_access")).form);
    expect([body.scope, typeof body.refresh_token]).toEqual(["offline_access", "string"]);
    for (const path of [`/users/${annId}`, `/users/${annId}/devices`, `/users/${annId}/notifications`]) {
      expect([path, (await api.call("GET", path, { token: body.access_token })).status >= 403]).toEqual([path, true]);
    }
    const { body: next } = await refresh(app, body.refresh_token);
    expect((await api.call("GET", `/users/${annId}`, { token: next.access_token })).status).toBeGreaterThanOrEqual(403);
  });

  it("is refused to another application", async () => {
    const { refresh_token } = await first();
    const other = await makeApplication(api);
    expectRefusal(await refresh(other, refresh_token), 400, "invalid_grant");
  });
});

describe("tokens of applications", () => {
  let app: MadeApplication;
  beforeAll(async () => {
    app = await makeApplication(api);
  });
  const pair = async () => (await askToken(api, (await newCode(app)).form)).body;
  const revoke = (form: Record<string, string>, clientId = app.clientId) =>
    api.call("POST", "/api/revoke", { token: null, form: Object.entries({ client_id: clientId, ...form }) });

  it("are revoked by the application: an access token alone, a refresh token with its chain", async () => {
    const one = await pair();
    expect((await revoke({ token: one.access_token, token_type_hint: "access_token" })).status).toBe(200);
    expect(await session(one.access_token)).toBe(401);
    const { body: two } = await refresh(app, one.refresh_token);
    expect((await revoke({ token: two.refresh_token })).status).toBe(200);
    expect(await session(two.access_token)).toBe(401);
    expectRefusal(await refresh(app, two.refresh_token), 400, "invalid_grant");
  });

  it("are not revoked by another application or by strangers", async () => {
    const { access_token } = await pair();
    const other = await makeApplication(api);
    expect((await revoke({ token: access_token }, other.clientId)).status).toBe(200);
    expect((await revoke({ token: api.token })).status).toBe(200);
    expectRefusal(await revoke({ token: access_token }, "nobody"), 401, "invalid_client");
    expectRefusal(await revoke({}), 400, "invalid_request");
    expect([await session(access_token), await session(api.token)]).toEqual([200, 200]);
  });

  it("stand in the user's list, which tells sessions, permanent and refreshed ones apart, and go by DELETE", async () => {
    const { access_token } = await pair();
    const list = await api.call("GET", `/users/${annId}/tokens?client=${app.clientId}&limit=1000&sort=-createdAt`);
    const row = list.body.data.find((each: { tokenType: string }) => each.tokenType === "access_token");
    expect(row).toMatchObject({
      kind: "oauth",
      client: app.clientId,
      type: "token",
      originCreatedAt: expect.any(String),
    });
    expect(list.text).not.toContain(access_token);
    const kinds = await api.call("GET", `/users/${annId}/tokens?kind=session`);
    expect(kinds.body.total).toBeGreaterThan(0);
  });

  it("go one by one, or as the whole session", async () => {
    const alone = await makeApplication(api);
    const { body } = await askToken(api, (await newCode(alone)).form);
    const rows = api.store.find(userTokens, { applicationId: alone.id });
    expect(rows.map(({ type, tokenType }) => `${type} ${tokenType}`)).toEqual([
      "code access_token",
      "token access_token",
      "token refresh_token",
    ]);
    const [, access] = rows;
    const again = (await refresh(alone, body.refresh_token)).body;
    const kept = await api.call("DELETE", `/users/${annId}/tokens/${access?.id}?deleteEntireSession=false`);
    expect(kept.status).toBe(200);
    expect([await session(body.access_token), await session(again.access_token)]).toEqual([401, 200]);
    const [next] = api.store.find(userTokens, { applicationId: alone.id, tokenType: "access_token", type: "token" });
    expect((await api.call("DELETE", `/users/${annId}/tokens/${next?.id}`)).status).toBe(200);
    expect(await session(again.access_token)).toBe(401);
    expect(api.store.count(userTokens, { applicationId: alone.id })).toBe(0);
    expectRefusal(await refresh(alone, again.refresh_token), 400, "invalid_grant");
  });

  it("go as the whole session when the query names one of them", async () => {
    const alone = await makeApplication(api);
    const { body } = await askToken(api, (await newCode(alone)).form);
    const [row] = api.store.find(userTokens, { applicationId: alone.id, tokenType: "access_token", type: "token" });
    expect((await api.call("DELETE", `/users/${annId}/tokens`)).body).toMatchObject({ type: "required" });
    const ended = await api.call("DELETE", `/users/${annId}/tokens?id=${row?.id}`);
    expect([ended.status, ended.body.resources]).toEqual([200, [{ id: row?.id }]]);
    expect(await session(body.access_token)).toBe(401);
    expectRefusal(await refresh(alone, body.refresh_token), 400, "invalid_grant");
  });

  it("go with their application and with their user", async () => {
    const gone = await makeApplication(api);
    const { body } = await askToken(api, (await newCode(gone)).form);
    expect((await api.call("DELETE", `/applications/${gone.id}`)).status).toBe(200);
    expect(await session(body.access_token)).toBe(401);
    expectRefusal(await refresh(gone, body.refresh_token), 401, "invalid_client");
    const bob = await makePerson(api, "bob@example.org");
    const proof = newProof();
    const back = await allow(api, authorizeParameters(app, proof), "bob@example.org");
    const code = back.searchParams.get("code") ?? "";
    const form = { grant_type: "authorization_code", client_id: app.clientId, redirect_uri: BACK, code };
    const bobs = (await askToken(api, { ...form, code_verifier: proof.verifier })).body;
    expect(await session(bobs.access_token)).toBe(200);
    expect((await api.call("DELETE", `/users/${bob}`)).status).toBe(200);
    expect(await session(bobs.access_token)).toBe(401);
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

  it("that act as somebody are changed by nobody with fewer rights", async () => {
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

describe("hostile parameters", () => {
  const ODD = ["\u0000", "\ud800", "é".repeat(1_000), "a b", "%", "__proto__", "../..", "'\"--", "[object Object]"];
  const NAMES = ["grant_type", "client_id", "client_secret", "code", "redirect_uri", "code_verifier", "refresh_token"];

  it("are the client's mistake at the token endpoint and at revocation", async () => {
    const app = await makeApplication(api);
    const statuses = new Set<number>();
    for (const name of [...NAMES, "scope", "audience", "token"]) {
      for (const value of ODD) {
        for (const grant_type of ["authorization_code", "refresh_token", "client_credentials"]) {
          const form = { grant_type, client_id: app.clientId, code: "a", refresh_token: "b", [name]: value };
          statuses.add((await askToken(api, form)).status);
        }
        const revoked = { client_id: app.clientId, token: "a", [name]: value };
        statuses.add((await api.call("POST", "/api/revoke", { token: null, json: revoked })).status);
      }
      for (const value of [1, null, true, [], {}, ["a"]]) {
        const json = { grant_type: "refresh_token", client_id: app.clientId, [name]: value };
        statuses.add((await api.call("POST", "/api/token", { token: null, json })).status);
      }
      statuses.add((await api.call("POST", `/api/token?${name}[]=a&${name}[]=b`, { token: null })).status);
    }
    expect([...statuses].sort()).toEqual([200, 400, 401]);
  }, 60_000);

  it("are the client's mistake at the authorize page", async () => {
    const app = await makeApplication(api);
    const parameters = authorizeParameters(app, newProof());
    const statuses = new Set<number>();
    for (const name of [...Object.keys(parameters), "scope", "prompt"]) {
      for (const value of ODD) statuses.add((await openAuthorize(api, { ...parameters, [name]: value })).status);
    }
    expect([...statuses].sort()).toEqual([200, 303, 400]);
  }, 60_000);
});

describe("identity providers", () => {
  it("are listed, the built-in one with the id that is the audience", async () => {
    const { token } = await api.user("Dora", "get /identity-providers/*");
    const { body } = await api.call("GET", "/identity-providers", { token });
    expect(body).toMatchObject({ total: 1, partial: false, next: null, data: [{ id: providerId, type: "built-in" }] });
    expect((await api.call("GET", `/identity-providers/${providerId}`, { token })).body).toEqual(body.data[0]);
    expect((await api.call("GET", `/identity-providers/${annId}`, { token })).status).toBe(404);
    expect((await api.call("GET", "/identity-providers", { token: null })).status).toBe(401);
  });
});
