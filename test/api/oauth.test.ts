import { afterAll, beforeAll, describe, expect, it } from "vitest";
import userTokens from "../../src/resources/people/user-tokens.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";
import {
  authorizeParameters,
  type CreatedApplication,
  createPkcePair,
  expectRefusal,
  grantAccess,
  makeApplication,
  makePerson,
  openAuthorize,
  REDIRECT_URI,
  requestToken,
} from "./oauth-fixture.ts";

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

/** A code for `app`, and what is needed to exchange it. */
async function newCode(app: CreatedApplication, scope = "urn:service:users:read offline_access") {
  const proof = createPkcePair();
  const back = await grantAccess(api, authorizeParameters(app, proof, { scope }), ANN);
  const code = back.searchParams.get("code") ?? "";
  const form = { grant_type: "authorization_code", client_id: app.clientId, redirect_uri: REDIRECT_URI, code };
  return { back, code, form: { ...form, code_verifier: proof.verifier } };
}

function refresh(app: CreatedApplication, token: string, more: Record<string, string> = {}): Promise<ReceivedResponse> {
  return requestToken(api, { grant_type: "refresh_token", client_id: app.clientId, refresh_token: token, ...more });
}

describe("a code", () => {
  let app: CreatedApplication;
  beforeAll(async () => {
    app = await makeApplication(api);
  });

  it("is exchanged for an access token and, with offline_access, a refresh token", async () => {
    const { back, form } = await newCode(app);
    expect(back.href.startsWith(REDIRECT_URI)).toBe(true);
    expect(back.searchParams.get("state")).toBe("a b&c");
    const { status, body } = await requestToken(api, form);
    expect(status).toBe(200);
    expect(body).toMatchObject({ scope: "urn:service:users:read offline_access", refresh_token: expect.any(String) });
    expect(await session(body.access_token)).toBe(200);
    expect(await session(body.refresh_token)).toBe(401);
    expect(await session(form.code)).toBe(401);
  });

  it("yields a refresh token only if requested", async () => {
    const { form } = await newCode(app, "urn:service:users:read");
    expect((await requestToken(api, form)).body).not.toHaveProperty("refresh_token");
  });

  it("is valid once: a second use is refused and revokes the tokens of the first", async () => {
    const { form } = await newCode(app);
    const { body } = await requestToken(api, form);
    expectRefusal(await requestToken(api, form), 400, "invalid_grant");
    expect(await session(body.access_token)).toBe(401);
    expectRefusal(await refresh(app, body.refresh_token), 400, "invalid_grant");
  });

  it("is accepted in only one of many parallel exchanges", async () => {
    const { form } = await newCode(app);
    const answers = await Promise.all(Array.from({ length: 8 }, () => requestToken(api, form)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefusal(answer, 400, "invalid_grant");
  });

  it.each([
    ["another verifier", { code_verifier: createPkcePair().verifier }, "invalid_grant"],
    ["no verifier", { code_verifier: "" }, "invalid_grant"],
    ["another redirect_uri", { redirect_uri: "https://app.example.org/back" }, "invalid_request"],
    ["no redirect_uri", { redirect_uri: "" }, "invalid_request"],
    ["another code", { code: "carillon_other" }, "invalid_grant"],
    ["no code", { code: "" }, "invalid_request"],
  ])("is refused with %s", async (_what, change, error) => {
    const { form } = await newCode(app);
    expectRefusal(await requestToken(api, { ...form, ...change }), 400, error);
  });

  it("is invalidated by a wrong verifier, and refused to another application", async () => {
    const { form } = await newCode(app);
    await requestToken(api, { ...form, code_verifier: createPkcePair().verifier });
    expectRefusal(await requestToken(api, form), 400, "invalid_grant");
    const stolen = await newCode(app);
    const other = await makeApplication(api);
    expectRefusal(await requestToken(api, { ...stolen.form, client_id: other.clientId }), 400, "invalid_grant");
  });

  it("requires the secret of a confidential application, with or without PKCE", async () => {
    const shop = await makeApplication(api, { type: "confidential" });
    const parameters = { response_type: "code", client_id: shop.clientId, redirect_uri: REDIRECT_URI };
    const code = (await grantAccess(api, parameters, ANN)).searchParams.get("code") ?? "";
    const form = { grant_type: "authorization_code", client_id: shop.clientId, redirect_uri: REDIRECT_URI, code };
    expectRefusal(await requestToken(api, form), 401, "invalid_client");
    const answer = await requestToken(api, { ...form, client_secret: shop.clientSecret ?? "" });
    expect([answer.status, answer.body.scope, answer.body.expires_in]).toEqual([200, "", 43_200]);
  });
});

describe("a refresh token", () => {
  let app: CreatedApplication;
  beforeAll(async () => {
    app = await makeApplication(api);
  });
  const first = async () => (await requestToken(api, (await newCode(app)).form)).body;

  it("is exchanged for a new pair repeatedly", async () => {
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

  it("may request fewer scopes once, and never more", async () => {
    const less = await refresh(app, (await first()).refresh_token, { scope: "urn:service:users:read" });
    expect([less.status, less.body.scope]).toEqual([200, "urn:service:users:read"]);
    const { body } = await refresh(app, less.body.refresh_token);
    expect(body.scope).toBe("urn:service:users:read offline_access");
    expectRefusal(await refresh(app, body.refresh_token, { scope: "urn:service:users:write" }), 400, "invalid_scope");
    expect((await refresh(app, body.refresh_token)).status).toBe(200);
  });

  it("is accepted in only one of many parallel exchanges, whose pair stays valid", async () => {
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
    const { body } = await requestToken(api, (await newCode(app, "offline_access")).form);
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
  let app: CreatedApplication;
  beforeAll(async () => {
    app = await makeApplication(api);
  });
  const pair = async () => (await requestToken(api, (await newCode(app)).form)).body;
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

  it("cannot be revoked by another application or anonymously", async () => {
    const { access_token } = await pair();
    const other = await makeApplication(api);
    expect((await revoke({ token: access_token }, other.clientId)).status).toBe(200);
    expect((await revoke({ token: api.token })).status).toBe(200);
    expectRefusal(await revoke({ token: access_token }, "nobody"), 401, "invalid_client");
    expectRefusal(await revoke({}), 400, "invalid_request");
    expect([await session(access_token), await session(api.token)]).toEqual([200, 200]);
  });

  it("are listed for the user with their type (session, permanent, refreshed), and deleted by DELETE", async () => {
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
    const { body } = await requestToken(api, (await newCode(alone)).form);
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
    const { body } = await requestToken(api, (await newCode(alone)).form);
    const [row] = api.store.find(userTokens, { applicationId: alone.id, tokenType: "access_token", type: "token" });
    expect((await api.call("DELETE", `/users/${annId}/tokens`)).body).toMatchObject({ type: "required" });
    const ended = await api.call("DELETE", `/users/${annId}/tokens?id=${row?.id}`);
    expect([ended.status, ended.body.resources]).toEqual([200, [{ id: row?.id }]]);
    expect(await session(body.access_token)).toBe(401);
    expectRefusal(await refresh(alone, body.refresh_token), 400, "invalid_grant");
  });

  it("go with their application and with their user", async () => {
    const gone = await makeApplication(api);
    const { body } = await requestToken(api, (await newCode(gone)).form);
    expect((await api.call("DELETE", `/applications/${gone.id}`)).status).toBe(200);
    expect(await session(body.access_token)).toBe(401);
    expectRefusal(await refresh(gone, body.refresh_token), 401, "invalid_client");
    const bob = await makePerson(api, "bob@example.org");
    const proof = createPkcePair();
    const back = await grantAccess(api, authorizeParameters(app, proof), "bob@example.org");
    const code = back.searchParams.get("code") ?? "";
    const form = { grant_type: "authorization_code", client_id: app.clientId, redirect_uri: REDIRECT_URI, code };
    const bobs = (await requestToken(api, { ...form, code_verifier: proof.verifier })).body;
    expect(await session(bobs.access_token)).toBe(200);
    expect((await api.call("DELETE", `/users/${bob}`)).status).toBe(200);
    expect(await session(bobs.access_token)).toBe(401);
  });
});

describe("hostile parameters", () => {
  const ODD = ["\u0000", "\ud800", "é".repeat(1_000), "a b", "%", "__proto__", "../..", "'\"--", "[object Object]"];
  const NAMES = ["grant_type", "client_id", "client_secret", "code", "redirect_uri", "code_verifier", "refresh_token"];

  it("are client errors at the token and revocation endpoints", async () => {
    const app = await makeApplication(api);
    const statuses = new Set<number>();
    for (const name of [...NAMES, "scope", "audience", "token"]) {
      for (const value of ODD) {
        for (const grant_type of ["authorization_code", "refresh_token", "client_credentials"]) {
          const form = { grant_type, client_id: app.clientId, code: "a", refresh_token: "b", [name]: value };
          statuses.add((await requestToken(api, form)).status);
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

  it("are client errors at the authorize page", async () => {
    const app = await makeApplication(api);
    const parameters = authorizeParameters(app, createPkcePair());
    const statuses = new Set<number>();
    for (const name of [...Object.keys(parameters), "scope", "prompt"]) {
      for (const value of ODD) statuses.add((await openAuthorize(api, { ...parameters, [name]: value })).status);
    }
    expect([...statuses].sort()).toEqual([200, 303, 400]);
  }, 60_000);
});

describe("identity providers", () => {
  it("are listed, with the audience as the id of the built-in one", async () => {
    const { token } = await api.user("Dora", "get /identity-providers/*");
    const { body } = await api.call("GET", "/identity-providers", { token });
    expect(body).toMatchObject({ total: 1, partial: false, next: null, data: [{ id: providerId, type: "built-in" }] });
    expect((await api.call("GET", `/identity-providers/${providerId}`, { token })).body).toEqual(body.data[0]);
    expect((await api.call("GET", `/identity-providers/${annId}`, { token })).status).toBe(404);
    expect((await api.call("GET", "/identity-providers", { token: null })).status).toBe(401);
  });
});
