import type { IncomingMessage } from "node:http";
import { notFound } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import type { Settings } from "../settings/schema.ts";
import { clientOf } from "./forwarded-client.ts";

/** Path of the contact for reports of vulnerabilities. @source RFC 9116 §3 */
export const SECURITY_TXT_PATH = "/.well-known/security.txt";

/** How long a reader may rely on the file; less than a year is recommended. @source RFC 9116 §2.5.5 */
const VALIDITY_DAYS = 90;
const DAY_MS = 86_400_000;

/**
 * Responds with the contact of the settings. The expiry is the end of a day, so that the file changes once a day. Links
 * must be https: without TLS they are left out. Throws not-found without a contact. @source RFC 9116 §2.5
 */
export function securityTxtResponse(
  request: IncomingMessage,
  { security, api }: Pick<Settings, "security" | "api">,
  now: number,
): HttpResponse {
  const { contact, languages } = security;
  if (contact === null) throw notFound();
  const expires = (Math.floor(now / DAY_MS) + 1 + VALIDITY_DAYS) * DAY_MS;
  const lines = [`Contact: ${contact}`, `Expires: ${new Date(expires).toISOString()}`];
  if (languages.length > 0) lines.push(`Preferred-Languages: ${languages.join(", ")}`);
  const base = secureBase(request, api.publicUrl);
  if (base !== null)
    lines.push(`Canonical: ${base}${SECURITY_TXT_PATH}`, `Policy: ${base}/help/security#reporting-a-vulnerability`);
  return { type: "text/plain; charset=utf-8", body: `${lines.join("\n")}\n` };
}

/** The public URL, else the host that the client addressed; null if that is not https. The host was checked before. */
function secureBase(request: IncomingMessage, publicUrl: string | null): string | null {
  if (publicUrl !== null) return publicUrl.startsWith("https:") ? publicUrl.replace(/\/$/, "") : null;
  const { host } = request.headers;
  return host !== undefined && clientOf(request).secure ? `https://${host}` : null;
}
