import { type KeyObject, sign } from "node:crypto";

/** Signs a JSON Web Token: RSA key for `RS256`, P-256 key for `ES256`. @source RFC 7515 §3.1, RFC 7518 §3.3, §3.4 */
export function signJsonWebToken(
  algorithm: "RS256" | "ES256",
  head: Readonly<Record<string, unknown>>,
  claims: Readonly<Record<string, unknown>>,
  key: KeyObject,
): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg: algorithm, typ: "JWT", ...head })}.${part(claims)}`;
  // JWS needs the raw r and s values, 32 bytes each; Node's default encoding is DER.
  const form = algorithm === "ES256" ? ({ key, dsaEncoding: "ieee-p1363" } as const) : key;
  return `${text}.${sign("sha256", Buffer.from(text), form).toString("base64url")}`;
}
