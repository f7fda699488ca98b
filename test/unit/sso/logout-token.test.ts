import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { IdentityProviderRow } from "../../../src/auth/identity-providers.ts";
import { readLogoutToken } from "../../../src/sso/logout-token.ts";

const NOW = Date.parse("2026-11-29T12:00:00Z");
const ISSUER = "https://idp.example.org";
const ROW = { clientId: "carillon", clockToleranceInSecs: 60 } as IdentityProviderRow;
const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const KEYS = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", alg: "ES256", use: "sig" }] };

const seconds = (ago: number): number => NOW / 1_000 - ago;
const GOOD = {
  ...{ iss: ISSUER, aud: "carillon", iat: seconds(5), exp: seconds(-120), jti: "1", sub: "ann", sid: "s1" },
  events: { "http://schemas.openid.net/event/backchannel-logout": {} },
};

function tokenOf(claims: object, key: KeyObject = privateKey, alg = "ES256"): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const content = `${encode({ alg, kid: "k", typ: "logout+jwt" })}.${encode(claims)}`;
  return `${content}.${sign("sha256", Buffer.from(content), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}

async function read(token: string): Promise<string[] | string> {
  let asked = 0;
  const fetchKeys = async () => {
    asked += 1;
    return KEYS;
  };
  try {
    return [...(await readLogoutToken(ROW, token, { issuer: ISSUER, fetchKeys }, NOW)).sessionKeys];
  } catch (error) {
    return `${(error as { code: string }).code}${asked === 0 ? ", keys not read" : ""}`;
  }
}

describe("a logout token", () => {
  it.each<[string, string, string[] | string]>([
    ["all of it", tokenOf(GOOD), ["sid s1", "sub ann"]],
    ["a user only", tokenOf({ ...GOOD, sid: undefined }), ["sub ann"]],
    ["a session only", tokenOf({ ...GOOD, sub: undefined }), ["sid s1"]],
    ["several recipients", tokenOf({ ...GOOD, aud: ["other", "carillon"] }), ["sid s1", "sub ann"]],
    ["neither user nor session", tokenOf({ ...GOOD, sub: undefined, sid: undefined }), "answer"],
    ["another recipient", tokenOf({ ...GOOD, aud: "other" }), "audience, keys not read"],
    ["another issuer", tokenOf({ ...GOOD, iss: "https://eve.example.org" }), "audience, keys not read"],
    ["another event", tokenOf({ ...GOOD, events: { "urn:other": {} } }), "answer, keys not read"],
    ["no event, as an ID token", tokenOf({ ...GOOD, events: undefined }), "answer, keys not read"],
    ["a nonce, as an ID token", tokenOf({ ...GOOD, nonce: "n" }), "answer, keys not read"],
    ["another key", tokenOf(GOOD, other), "signature"],
    ["no algorithm", tokenOf(GOOD, privateKey, "none"), "signature"],
    ["an old time", tokenOf({ ...GOOD, iat: seconds(900), exp: undefined }), "expired"],
    ["an end that is over", tokenOf({ ...GOOD, exp: seconds(120) }), "expired"],
    ["no id", tokenOf({ ...GOOD, jti: undefined }), "answer"],
    ["no form", "what somebody posts", "answer, keys not read"],
  ])("with %s is judged", async (_what, token, wanted) => {
    expect(await read(token)).toEqual(wanted);
  });

  it("that was changed is refused", async () => {
    const [header = "", , signature = ""] = tokenOf(GOOD).split(".");
    const forged = Buffer.from(JSON.stringify({ ...GOOD, sub: "bob" })).toString("base64url");
    expect(await read(`${header}.${forged}.${signature}`)).toBe("signature");
  });
});
