import { createHash, timingSafeEqual } from "node:crypto";
import type { PluginRequest } from "#plugin-api";
import type { HttpInputSource } from "./input-sources.ts";

/** True if a request contains the source's secret; compares in constant time. */
export function isAuthenticated(
  source: HttpInputSource,
  { headers, url }: Pick<PluginRequest, "headers" | "url">,
): boolean {
  const given = [...secretsInHeader(headers.authorization), ...(source.inUrl ? secretsInUrl(url) : [])];
  return given.some((each) => timingSafeEqual(sha256Of(each), sha256Of(source.secret)));
}

/** `Bearer <secret>`, or `Basic` with any user name. @source RFC 6750 §2.1, RFC 7617 §2 */
function secretsInHeader(header: string | string[] | undefined): string[] {
  const [, scheme = "", value = ""] = /^(\w+) +(.*)$/.exec(String(header ?? "")) ?? [];
  if (scheme.toLowerCase() === "bearer") return [value];
  if (scheme.toLowerCase() !== "basic") return [];
  const pair = Buffer.from(value, "base64").toString("utf8");
  const colon = pair.indexOf(":");
  return colon < 0 ? [] : [pair.slice(colon + 1)];
}

function secretsInUrl(url: string): string[] {
  const secret = new URL(url, "http://localhost").searchParams.get("secret");
  return secret === null ? [] : [secret];
}

function sha256Of(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
