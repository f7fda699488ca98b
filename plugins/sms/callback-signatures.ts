import { createHash, createHmac, createPublicKey, timingSafeEqual, verify } from "node:crypto";
import { isRecord } from "./gateway-values.ts";

/** A request of a provider to the appliance. */
export interface SignedCallback {
  /** URL as the provider called it. */
  url: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
  /** Wall time, epoch ms. */
  now: number;
}

/** How a provider signs its requests. */
export type SignatureScheme =
  | "hmac-sha1-of-url-and-form"
  | "hmac-sha256-of-url-and-form"
  | "hmac-of-parameters"
  | "hmac-sha256-of-body-and-nonce"
  | "hmac-sha256-of-body-and-time"
  | "ed25519-of-time-and-body"
  | "json-web-token-with-hashes";

/** Older requests may be replayed. */
const MAX_AGE_MS = 300_000;
const ED25519_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

/** Checks the signature of a request; false for a missing or malformed one. */
export function isSignatureValid(scheme: SignatureScheme, secret: string, request: SignedCallback): boolean {
  try {
    return SCHEMES[scheme](secret, request);
  } catch {
    return false;
  }
}

const SCHEMES: Readonly<Record<SignatureScheme, (secret: string, request: SignedCallback) => boolean>> = {
  "hmac-sha1-of-url-and-form": (secret, { url, headers, body }) => {
    const text = url + sortedForm(body).flat().join("");
    return isSame(header(headers, "x-twilio-signature"), hmac("sha1", secret, text, "base64"));
  },
  "hmac-sha256-of-url-and-form": (secret, { url, headers, body }) => {
    const { origin, pathname, searchParams } = new URL(url);
    const query = sorted(searchParams)
      .map(([name, value]) => `${name}=${value}`)
      .join("&");
    const form = sortedForm(body).flat().join("");
    const base = `${origin}${pathname}${query === "" && form === "" ? "" : "?"}${query}${query !== "" && form !== "" ? "." : ""}${form}`;
    const expected = hmac("sha256", secret, `${base}.${header(headers, "x-plivo-signature-v3-nonce")}`, "base64");
    return header(headers, "x-plivo-signature-v3")
      .split(",")
      .some((each) => isSame(each.trim(), expected));
  },
  "hmac-of-parameters": (secret, { url, body, now }) => {
    const parameters = new Map([...new URL(url).searchParams, ...bodyParameters(body)]);
    const given = parameters.get("sig") ?? "";
    const time = Number(parameters.get("timestamp") ?? Number.NaN) * 1_000;
    parameters.delete("sig");
    const text = [...parameters]
      .filter(([name]) => !OWN_PARAMETERS.has(name))
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, value]) => `&${name}=${value.replace(/[&=]/g, "_")}`)
      .join("");
    const algorithm = given.length === 128 ? "sha512" : "sha256";
    return isRecent(time, now) && isSame(given.toLowerCase(), hmac(algorithm, secret, text, "hex"));
  },
  "hmac-sha256-of-body-and-nonce": (secret, { headers, body, now }) => {
    const [nonce, time] = ["nonce", "timestamp"].map((each) => header(headers, `x-sinch-webhook-signature-${each}`));
    const signed = Buffer.concat([body, Buffer.from(`.${nonce}.${time}`)]);
    const given = header(headers, "x-sinch-webhook-signature");
    return isRecent(Number(time) * 1_000, now) && isSame(given, hmac("sha256", secret, signed, "base64"));
  },
  "hmac-sha256-of-body-and-time": (secret, { headers, body, now }) => {
    const time = header(headers, "x-timestamp");
    const expected = hmac("sha256", secret, Buffer.concat([body, Buffer.from(time)]), "hex");
    return isRecent(Number(time) * 1_000, now) && isSame(header(headers, "x-signature").toLowerCase(), expected);
  },
  "ed25519-of-time-and-body": (publicKey, { headers, body, now }) => {
    const time = header(headers, "telnyx-timestamp");
    const signature = Buffer.from(header(headers, "telnyx-signature-ed25519"), "base64");
    const der = Buffer.concat([ED25519_PREFIX, Buffer.from(publicKey, "base64")]);
    const key = createPublicKey({ key: der, format: "der", type: "spki" });
    const signed = Buffer.concat([Buffer.from(`${time}|`), body]);
    return isRecent(Number(time) * 1_000, now) && verify(null, signed, key, signature);
  },
  "json-web-token-with-hashes": (secret, { url, headers, body, now }) => {
    const [head = "", payload = "", signature = ""] = header(headers, "messagebird-signature-jwt").split(".");
    if (decodeJson(head).alg !== "HS256") return false;
    if (!isSame(signature, hmac("sha256", secret, `${head}.${payload}`, "base64url"))) return false;
    const claims = decodeJson(payload);
    const isCurrent = Number(claims.nbf ?? 0) * 1_000 <= now + MAX_AGE_MS && Number(claims.exp) * 1_000 > now;
    const hasBody = body.length === 0 ? true : claims.payload_hash === sha256(body);
    return isCurrent && hasBody && claims.url_hash === sha256(Buffer.from(url));
  },
};

/** Parameters that the appliance added to the URL; the provider signs only those that it sends itself. */
const OWN_PARAMETERS: ReadonlySet<string> = new Set(["delivery", "token"]);

function isRecent(time: number, now: number): boolean {
  return Math.abs(now - time) <= MAX_AGE_MS;
}

function header(headers: SignedCallback["headers"], name: string): string {
  const value = headers[name];
  return Array.isArray(value) ? (value[0] ?? "") : (value ?? "");
}

function hmac(
  algorithm: string,
  secret: string,
  text: string | Buffer,
  encoding: "hex" | "base64" | "base64url",
): string {
  return createHmac(algorithm, secret).update(text).digest(encoding);
}

function sha256(octets: Buffer): string {
  return createHash("sha256").update(octets).digest("hex");
}

function sortedForm(body: Buffer): [string, string][] {
  return sorted(new URLSearchParams(body.toString("utf8")));
}

function sorted(parameters: URLSearchParams): [string, string][] {
  return [...parameters].sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : 1));
}

function bodyParameters(body: Buffer): [string, string][] {
  const text = body.toString("utf8").trim();
  if (!text.startsWith("{")) return [...new URLSearchParams(text)];
  const value: unknown = JSON.parse(text);
  return isRecord(value) ? Object.entries(value).map(([name, each]) => [name, String(each)]) : [];
}

function decodeJson(part: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
  return isRecord(value) ? value : {};
}

/** Compares in constant time. */
export function isSame(given: string, expected: string): boolean {
  const [a, b] = [given, expected].map((each) => createHash("sha256").update(each).digest());
  return given !== "" && a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
