import { createHash, timingSafeEqual } from "node:crypto";
import type { PluginRequest } from "#plugin-api";
import type { Source } from "./sources.ts";

/** True when a request shows the secret of its source; the time it takes tells nothing of it. */
export function isFrom(source: Source, { headers, url }: Pick<PluginRequest, "headers" | "url">): boolean {
  const shown = [...inHeader(headers.authorization), ...(source.inUrl ? inAddress(url) : [])];
  return shown.some((each) => timingSafeEqual(hashOf(each), hashOf(source.secret)));
}

/** `Bearer <secret>`, or `Basic` with any user name. @source RFC 6750 §2.1, RFC 7617 §2 */
function inHeader(header: string | string[] | undefined): string[] {
  const [, scheme = "", value = ""] = /^(\w+) +(.*)$/.exec(String(header ?? "")) ?? [];
  if (scheme.toLowerCase() === "bearer") return [value];
  if (scheme.toLowerCase() !== "basic") return [];
  const pair = Buffer.from(value, "base64").toString("utf8");
  const colon = pair.indexOf(":");
  return colon < 0 ? [] : [pair.slice(colon + 1)];
}

function inAddress(url: string): string[] {
  const secret = new URL(url, "http://localhost").searchParams.get("secret");
  return secret === null ? [] : [secret];
}

function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
