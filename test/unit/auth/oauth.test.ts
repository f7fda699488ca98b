import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCsrfTokens } from "../../../src/auth/csrf-tokens.ts";
import {
  createOAuthService,
  type IssuedTokens,
  type OAuthService,
  type TokenParameters,
} from "../../../src/auth/oauth.ts";
import { parseAuthorizationRequest } from "../../../src/auth/oauth-authorization.ts";
import { createApplication } from "../../../src/auth/oauth-clients.ts";
import { isOAuthScope, resolveGrantedScopes } from "../../../src/auth/oauth-scopes.ts";
import userTokens from "../../../src/resources/people/user-tokens.ts";
import users from "../../../src/resources/people/users.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "../permissions/access-fixture.ts";

const BACK = "https://app.example.org/back";
const DAY = 86_400_000;
/** @source RFC 7636, Appendix B */
const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const NOTHING = { grantType: null, audience: null, scope: null, code: null, redirectUri: null } as const;
const NO_GRANT: TokenParameters = { ...NOTHING, codeVerifier: null, refreshToken: null };

let fixture: AccessFixture;
let oauth: OAuthService;
let clientId: string;
let ann: { id: string; token: string };
beforeEach(async () => {
  fixture = await openAccess(makeTempDir());
  oauth = createOAuthService({
    ...fixture,
    onError: (error) => {
      throw error;
    },
  });
  const input = { name: "Clock", type: "public", redirectUris: [BACK] };
  clientId = (await createApplication(fixture.store, input, fixture.system, fixture.clock.now())).row.id;
  ann = await fixture.user("Ann");
});
afterEach(async () => {
  oauth.close();
  await fixture.close();
});

async function newCode(scope = "offline_access"): Promise<string> {
  const request = parseAuthorizationRequest(fixture.store, {
    ...{ client_id: clientId, response_type: "code", redirect_uri: BACK, scope },
    ...{ code_challenge: CHALLENGE, code_challenge_method: "S256" },
  });
  const location = await oauth.approve(request, fixture.principal(ann.token), null);
  return new URL(location).searchParams.get("code") ?? "";
}

function exchange(given: Partial<TokenParameters>): Promise<IssuedTokens> {
  return oauth.exchange({ clientId, clientSecret: null }, { ...NO_GRANT, ...given }, null);
}

const byCode = (code: string) =>
  exchange({ grantType: "authorization_code", code, redirectUri: BACK, codeVerifier: VERIFIER });
const byRefresh = (refreshToken: string | null) => exchange({ grantType: "refresh_token", refreshToken });
const holder = (token: string) => fixture.access.authenticate(token);
const REFUSED = { error: "invalid_grant" };

describe("token lifetimes", () => {
  it("expires a code within a minute", async () => {
    const [early, late] = [await newCode(), await newCode()];
    fixture.clock.advanceSync(59_999);
    expect(holder((await byCode(early)).accessToken)).toMatchObject({ userId: ann.id });
    fixture.clock.advanceSync(1);
    await expect(byCode(late)).rejects.toMatchObject(REFUSED);
  });

  it("expires a login without offline access like a session", async () => {
    const { accessToken, refreshToken, expiresInS } = await byCode(await newCode("urn:service:users:read"));
    expect([refreshToken, expiresInS]).toEqual([null, 12 * 3_600]);
    for (let half = 0; half < 23; half++) {
      fixture.clock.advanceSync(30 * 60_000 - 1);
      expect(holder(accessToken)).not.toBeNull();
    }
    const idle = (await byCode(await newCode("urn:service:users:read"))).accessToken;
    fixture.clock.advanceSync(30 * 60_000);
    expect([holder(idle), holder(accessToken)]).toEqual([null, null]);
  });

  it("expires other access tokens after an hour, used or not", async () => {
    const { accessToken, expiresInS } = await byCode(await newCode());
    expect(expiresInS).toBe(3_600);
    fixture.clock.advanceSync(expiresInS * 1_000 - 1);
    expect(holder(accessToken)).not.toBeNull();
    fixture.clock.advanceSync(1);
    expect(holder(accessToken)).toBeNull();
  });

  it("expires a refresh token 30 days after its exchange", async () => {
    let { refreshToken } = await byCode(await newCode());
    for (let round = 0; round < 3; round++) {
      fixture.clock.advanceSync(30 * DAY - 1);
      ({ refreshToken } = await byRefresh(refreshToken));
    }
    fixture.clock.advanceSync(30 * DAY);
    await expect(byRefresh(refreshToken)).rejects.toMatchObject(REFUSED);
  });

  it("expires refresh tokens a year after the log-in, however often they are used", async () => {
    let { refreshToken } = await byCode(await newCode());
    for (let day = 25; day < 365; day += 25) {
      fixture.clock.advanceSync(25 * DAY);
      ({ refreshToken } = await byRefresh(refreshToken));
    }
    fixture.clock.advanceSync(15 * DAY);
    await expect(byRefresh(refreshToken)).rejects.toMatchObject(REFUSED);
  });
});

describe("parallel exchanges", () => {
  it("accepts one of parallel refresh-token exchanges and refuses the others", async () => {
    const { refreshToken } = await byCode(await newCode());
    const ends = await Promise.allSettled(Array.from({ length: 20 }, () => byRefresh(refreshToken)));
    const won = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
    const lost = ends.flatMap((end) => (end.status === "rejected" ? [end.reason.error] : []));
    expect([won.length, new Set(lost)]).toEqual([1, new Set(["invalid_grant"])]);
    expect(holder(won[0]?.accessToken ?? "")).not.toBeNull();
    expect((await byRefresh(won[0]?.refreshToken ?? "")).accessToken).toBeTruthy();
  });

  it("refuses refresh-token reuse within the grace period and revokes the chain later", async () => {
    const { accessToken, refreshToken } = await byCode(await newCode());
    fixture.clock.advanceSync(1_000);
    const won = await byRefresh(refreshToken);
    fixture.clock.advanceSync(9_999);
    await expect(byRefresh(refreshToken)).rejects.toMatchObject(REFUSED);
    expect([holder(accessToken), holder(won.accessToken)]).not.toContain(null);
    fixture.clock.advanceSync(1);
    await expect(byRefresh(refreshToken)).rejects.toMatchObject(REFUSED);
    expect([holder(accessToken), holder(won.accessToken)]).toEqual([null, null]);
    await expect(byRefresh(won.refreshToken)).rejects.toMatchObject(REFUSED);
  });

  it("accepts one of parallel code exchanges", async () => {
    const code = await newCode();
    const ends = await Promise.allSettled(Array.from({ length: 20 }, () => byCode(code)));
    const won = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
    expect(won).toHaveLength(1);
    expect(holder(won[0]?.accessToken ?? "")).not.toBeNull();
  });
});

describe("application tokens", () => {
  it("are refused while the user is locked and valid again after it", async () => {
    const { accessToken, refreshToken } = await byCode(await newCode());
    const end = new Date(fixture.clock.now() + 60_000).toISOString();
    await fixture.store.update(users, ann.id, { lock: { start: null, end } }, fixture.system);
    expect(holder(accessToken)).toBeNull();
    await expect(byRefresh(refreshToken)).rejects.toMatchObject(REFUSED);
    fixture.clock.advanceSync(60_000);
    expect(holder(accessToken)).not.toBeNull();
    expect((await byRefresh(refreshToken)).refreshToken).toBeTruthy();
  });

  it("are revoked by a new password of the user", async () => {
    const { accessToken, refreshToken } = await byCode(await newCode());
    await fixture.store.update(users, ann.id, {}, fixture.system, { passwordHash: "x" });
    expect([holder(accessToken), holder(ann.token)?.userId]).toEqual([null, ann.id]);
    await expect(byRefresh(refreshToken)).rejects.toMatchObject(REFUSED);
  });

  it("are deleted a day after they expire, in chunks", async () => {
    for (let at = 0; at < 40; at++) await byCode(await newCode());
    expect(fixture.store.count(userTokens, { kind: "oauth" })).toBe(120);
    await fixture.clock.advance(DAY);
    expect(fixture.store.count(userTokens, { kind: "oauth", type: "token" })).toBe(80);
    await fixture.clock.advance(2 * 3_600_000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(fixture.store.count(userTokens, { kind: "oauth", tokenType: "refresh_token" })).toBe(40);
    expect(fixture.store.count(userTokens, { kind: "oauth" })).toBe(40);
    expect(holder(ann.token)).not.toBeNull();
  });
});

describe("CSRF tokens", () => {
  it("are valid for their subject, for 30 minutes, with the issuer's key", () => {
    const clock = createFakeClock();
    const forms = createCsrfTokens(clock);
    const token = forms.issue("a");
    expect([forms.verify(token, "a"), forms.verify(token, "b"), createCsrfTokens(clock).verify(token, "a")]).toEqual([
      true,
      false,
      false,
    ]);
    const [, signature] = token.split(".");
    expect(forms.verify(`${clock.now() + DAY}.${signature}`, "a")).toBe(false);
    for (const odd of ["", ".", "a.b.c", `${token}x`]) expect(forms.verify(odd, "a")).toBe(false);
    clock.advanceSync(1_800_000);
    expect(forms.verify(token, "a")).toBe(false);
  });
});

describe("scopes", () => {
  it.each([
    ["offline_access", true],
    ["urn:service:message-templates:read", true],
    ["urn:service:users:write", true],
    ["urn:service:users:admin", false],
    ["urn:service:users", false],
    ["urn:service:Users:read", false],
    ["urn:service:users:read:x", false],
    ["urn:other:users:read", false],
    ["", false],
  ])("%s: %s", (text, known) => {
    expect(isOAuthScope(text)).toBe(known);
  });

  it("grants the requested scopes, or all of the application", () => {
    const [read, write] = ["urn:service:users:read", "urn:service:users:write"];
    expect(resolveGrantedScopes([], { scopes: [read] })).toEqual([read]);
    expect(resolveGrantedScopes([], { scopes: [] })).toEqual([]);
    expect(resolveGrantedScopes([write], { scopes: [] })).toEqual([write]);
    expect(() => resolveGrantedScopes([write], { scopes: [read] })).toThrow(
      expect.objectContaining({ error: "invalid_scope" }),
    );
  });
});
