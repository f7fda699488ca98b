import { type KeyObject, sign } from "node:crypto";

/** A JSON Web Token signed by a private key: RSA for `RS256`, P-256 for `ES256`. @source RFC 7515 §3.1, RFC 7518 §3.3, §3.4 */
export function signJsonWebToken(
  algorithm: "RS256" | "ES256",
  head: Readonly<Record<string, unknown>>,
  claims: Readonly<Record<string, unknown>>,
  key: KeyObject,
): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg: algorithm, typ: "JWT", ...head })}.${part(claims)}`;
  // Two numbers of 32 bytes each, where the library's usual form is DER.
  const form = algorithm === "ES256" ? ({ key, dsaEncoding: "ieee-p1363" } as const) : key;
  return `${text}.${sign("sha256", Buffer.from(text), form).toString("base64url")}`;
}
