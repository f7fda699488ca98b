import { type KeyObject, verify } from "node:crypto";

/** Claims of a JSON Web Token. */
export type JwtClaims = Record<string, unknown>;

/** The claims of a token if its signature is valid; null otherwise. @source RFC 7519, RFC 7518 §3.3, §3.4 */
export function verifyJwt(token: string, key: KeyObject): JwtClaims | null {
  const [head = "", body = "", signature = ""] = token.split(".");
  const signed = Buffer.from(`${head}.${body}`);
  const isOurs = verify("sha256", signed, { key, dsaEncoding: "ieee-p1363" }, Buffer.from(signature, "base64url"));
  return isOurs ? (JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as JwtClaims) : null;
}
