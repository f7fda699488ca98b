import { afterAll, beforeAll, describe, expect, it } from "vitest";
import userTokens from "../../src/resources/people/user-tokens.ts";
import users from "../../src/resources/people/users.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, FROZEN_CLOCK, openApi } from "./api-fixture.ts";
import {
  authorizeParameters,
  type CreatedApplication,
  createPkcePair,
  grantAccess,
  makeApplication,
  makePerson,
  openAuthorize,
  PASSWORD,
  REDIRECT_URI,
  submit,
} from "./oauth-fixture.ts";

const ANN = "ann@example.org";

let api: ApiFixture;
let annId: string;
let app: CreatedApplication;
let parameters: Record<string, string>;
beforeAll(async () => {
  api = await openApi(makeTempDir(), { clock: FROZEN_CLOCK });
  annId = await makePerson(api, ANN);
  app = await makeApplication(api, { name: "Wall <clock> & Co" });
  parameters = authorizeParameters(app, createPkcePair(), {
    scope: "urn:service:message-templates:write offline_access",
  });
});
afterAll(() => api.close());

/** A session of the console, as its cookie. */
async function logIn(email = ANN): Promise<string> {
  const answer = await api.call("POST", "/api/login", { token: null, json: { email, password: PASSWORD } });
  return (answer.headers.get("set-cookie") ?? "").split(";")[0] as string;
}

const codes = () => api.store.count(userTokens, { applicationId: app.id, type: "code" });

describe("the authorize page", () => {
  it.each(["/api/authorize", "/api/login"])("is served at %s, to be framed and cached by nobody", async (path) => {
    const { status, headers, text } = await openAuthorize(api, parameters, { path });
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self' https://app.example.org;");
    expect(policy).not.toContain("unsafe");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(text).not.toMatch(/<script|\son\w+=/i);
    expect(text).toContain("Wall &#60;clock&#62; &#38; Co");
    expect(text).not.toContain("<clock>");
  });

  it("speaks the languages of the console", async () => {
    const pages = ["de-DE,de;q=0.9,en;q=0.8", "fr, en;q=0.5, de;q=0.1", "de;q=0", ""].map((language) =>
      openAuthorize(api, parameters, { language }),
    );
    const languages = (await Promise.all(pages)).map(({ text }) => /lang="(\w+)"/.exec(text)?.[1]);
    expect(languages).toEqual(["de", "en", "en", "en"]);
  });

  it.each([
    ["an unknown application", { client_id: "01a1ff93-ef31-72b2-9bc7-d5a47621d246" }],
    ["no application", { client_id: "" }],
    ["an address that is not the application's", { redirect_uri: `${REDIRECT_URI}&more=1` }],
    ["the address without its query", { redirect_uri: "https://app.example.org/back" }],
  ])("says what is wrong itself for %s", async (_what, change) => {
    const shown = await openAuthorize(api, { ...parameters, ...change });
    expect([shown.status, shown.location]).toEqual([400, null]);
    expect(shown.headers.get("content-type")).toContain("text/html");
    expect(shown.headers.get("www-authenticate")).toBeNull();
    expect(shown.text).toContain('role="alert"');
  });

  it.each([
    ["another response type", { response_type: "token" }, "unsupported_response_type"],
    ["no PKCE", { code_challenge: "", code_challenge_method: "" }, "invalid_request"],
    ["plain PKCE", { code_challenge_method: "plain" }, "invalid_request"],
    ["PKCE of no method", { code_challenge_method: "" }, "invalid_request"],
    ["a challenge that is none", { code_challenge: "short" }, "invalid_request"],
    ["a scope that is none", { scope: "root" }, "invalid_scope"],
  ])("sends the application the news of %s", async (_what, change, error) => {
    const { status, location } = await openAuthorize(api, { ...parameters, ...change });
    const back = new URL(location ?? "");
    expect([status, back.searchParams.get("error")]).toEqual([303, error]);
    expect(back.searchParams.get("state")).toBe("a b&c");
    expect(back.searchParams.get("from")).toBe("carillon");
    expect(back.searchParams.has("code")).toBe(false);
  });

  it("rejects a repeated parameter", async () => {
    const url = `${new URL(api.base).origin}/api/authorize?${new URLSearchParams(parameters)}&client_id=x`;
    expect((await fetch(url)).status).toBe(400);
  });

  it("takes the only address of the application when none is named", async () => {
    const { redirect_uri: _none, ...rest } = parameters;
    const back = await grantAccess(api, rest, ANN);
    expect(back.origin).toBe("https://app.example.org");
    const two = await makeApplication(api, { redirectUris: [REDIRECT_URI, "https://app.example.org/2"] });
    expect((await openAuthorize(api, { ...rest, client_id: two.clientId })).status).toBe(400);
  });
});

describe("log-in there", () => {
  it("begins a session of the console and comes back to the request", async () => {
    const page = await openAuthorize(api, parameters);
    const sent = await submit(api, page, { email: ANN, password: PASSWORD });
    const again = new URL(sent.location ?? "", api.base);
    expect([sent.status, again.pathname, Object.fromEntries(again.searchParams)]).toEqual([
      303,
      "/api/authorize",
      parameters,
    ]);
    expect(sent.headers.get("set-cookie")).toContain("HttpOnly; SameSite=Strict");
    const consent = await openAuthorize(api, parameters, { cookie: sent.cookie });
    expect(consent.text).toContain(`ann (${ANN})`);
    expect(consent.text).toContain("create, change and delete message templates");
    expect(consent.text).toContain("keep access while you are not logged in");
  });

  it("says the same of a wrong password and an unknown account, and keeps the address", async () => {
    const page = await openAuthorize(api, parameters);
    const wrong = await submit(api, page, { email: ANN, password: "wrong horse" });
    const unknown = await submit(api, page, { email: "nobody@example.org", password: "wrong horse" });
    const plain = (text: string) => text.replace(/value="[^"]*"/g, "");
    expect([wrong.status, unknown.status, wrong.cookie]).toEqual([401, 401, null]);
    expect(plain(wrong.text)).toBe(plain(unknown.text));
    expect(wrong.text).toContain(`value="${ANN}"`);
  });

  it("waits together with the console's log-in", async () => {
    const email = "guessed@example.org";
    const page = await openAuthorize(api, parameters);
    for (let at = 0; at < 3; at++) {
      await submit(api, page, { email, password: "wrong horse" });
      await api.call("POST", "/api/login", { token: null, json: { email, password: "wrong horse" } });
    }
    const held = await submit(api, page, { email, password: "wrong horse" });
    expect([held.status, held.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(held.text).toContain("Try again in 1 s");
  });

  it("asks for a new password where one must be set", async () => {
    const email = "reset@example.org";
    const id = await makePerson(api, email, { passwordResetRequired: true });
    const page = await openAuthorize(api, parameters);
    const asked = await submit(api, page, { email, password: PASSWORD });
    expect([asked.status, asked.cookie]).toEqual([400, null]);
    expect(asked.text).toContain('name="new_password"');
    const same = await submit(api, asked, { email, password: PASSWORD, new_password: PASSWORD });
    expect([same.status, same.cookie]).toEqual([400, null]);
    const done = await submit(api, asked, { email, password: PASSWORD, new_password: "staple battery horse" });
    expect([done.status, typeof done.cookie]).toEqual([303, "string"]);
    expect(api.store.get(users, id)?.passwordResetRequired).toBe(false);
  });
});

describe("consent", () => {
  it("issues a code for the requested scopes that lasts a minute and is stored as a hash", async () => {
    const back = await grantAccess(api, parameters, ANN);
    const code = back.searchParams.get("code") ?? "";
    const row = api.store.find(userTokens, { applicationId: app.id, type: "code" }).at(-1);
    expect(row).toMatchObject({ userId: annId, scope: parameters.scope, redirectUri: REDIRECT_URI });
    expect((row?.expires ?? 0) - (row?.createdAt ?? 0)).toBeLessThanOrEqual(60_000);
    expect(JSON.stringify(row)).not.toContain(code);
    expect(api.logText()).not.toContain(code);
  });

  it("reports a refusal to the application and issues nothing", async () => {
    const cookie = await logIn();
    const before = codes();
    const consent = await openAuthorize(api, parameters, { cookie });
    const { status, location } = await submit(api, consent, { decision: "deny" }, { cookie });
    const back = new URL(location ?? "");
    expect([status, back.searchParams.get("error"), back.searchParams.get("state")]).toEqual([
      303,
      "access_denied",
      "a b&c",
    ]);
    expect(codes()).toBe(before);
  });

  it("skips the password for a session of the console, unless another account is wanted", async () => {
    const cookie = await logIn();
    expect((await openAuthorize(api, parameters, { cookie })).text).toContain('value="allow"');
    const other = await openAuthorize(api, { ...parameters, prompt: "login" }, { cookie });
    expect(other.text).toContain('name="password"');
    const bob = "bob@example.org";
    await makePerson(api, bob);
    const sent = await submit(api, other, { email: bob, password: PASSWORD }, { cookie });
    expect(sent.location).not.toContain("prompt");
    expect((await openAuthorize(api, parameters, { cookie: sent.cookie })).text).toContain(bob);
  });

  it("is refused to an invited device, which would grant more than it has", async () => {
    const { code } = (await api.call("POST", `/users/${annId}/invitations`)).body;
    const accepted = await api.call("POST", "/api/invitation", { token: null, json: { code } });
    const cookie = (accepted.headers.get("set-cookie") ?? "").split(";")[0] as string;
    expect((await api.call("GET", `/users/${annId}`, { token: null, headers: { cookie } })).status).toBe(200);
    const before = codes();
    const page = await openAuthorize(api, parameters, { cookie });
    expect(page.text).toContain('name="password"');
    expect((await submit(api, page, { decision: "allow" }, { cookie })).location).toBeNull();
    expect(codes()).toBe(before);
  });

  it.each([
    ["without its proof", { form_token: "" }, {}],
    ["with another's proof", { form_token: "9999999999999.AAAA" }, {}],
    ["from a page of another site", {}, { origin: "https://evil.example.org" }],
    ["from nowhere", {}, { origin: "null" }],
  ])("is not taken %s", async (_what, fields, headers) => {
    const cookie = await logIn();
    const before = codes();
    const consent = await openAuthorize(api, parameters, { cookie });
    const sent = await submit(api, consent, { decision: "allow", ...fields }, { cookie, ...headers });
    expect([sent.location, sent.headers.get("content-type")]).toEqual([null, "text/html; charset=utf-8"]);
    expect([400, 403]).toContain(sent.status);
    expect(codes()).toBe(before);
  });

  it("rejects the CSRF token of another session, of the login form, or of another request", async () => {
    const [mine, other] = [await logIn(), await logIn()];
    const before = codes();
    const wider = { ...parameters, scope: "urn:service:users:write" };
    const pages = [
      await openAuthorize(api, parameters, { cookie: other }),
      await openAuthorize(api, parameters),
      await openAuthorize(api, wider, { cookie: mine }),
    ];
    for (const page of pages) {
      const proof = /name="form_token" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
      const own = await openAuthorize(api, parameters, { cookie: mine });
      const sent = await submit(api, own, { decision: "allow", form_token: proof }, { cookie: mine });
      expect([sent.status, sent.location]).toEqual([400, null]);
    }
    expect(codes()).toBe(before);
  });
});
