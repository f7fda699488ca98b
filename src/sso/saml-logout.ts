import { inflateRawSync } from "node:zlib";
import type { SAML } from "@node-saml/node-saml";
import { sentence } from "../lib/sentences/sentences.ts";
import { LoginError } from "./login-error.ts";
import type { SamlConfig, SamlLogout, SamlLogoutMessage } from "./saml-worker-messages.ts";

/** Maximum size of an inflated request. */
const MAX_REQUEST_BYTES = 50_000;
/** Maximum age of a request, beside the allowed clock skew. */
const MAX_AGE_MS = 600_000;

/** The XML of a request of the redirect binding. Throws LoginError. @source SAML 2.0 Bindings §3.4.4.1 */
export function inflateLogoutRequest({ SAMLRequest }: SamlLogoutMessage): string {
  try {
    return inflateRawSync(Buffer.from(SAMLRequest, "base64"), { maxOutputLength: MAX_REQUEST_BYTES }).toString();
  } catch {
    throw new LoginError("answer", sentence("login.response-unreadable"));
  }
}

/**
 * Validates a logout request of the provider, whose signature is required and covers all that is read, and builds the
 * response. Throws LoginError, and errors of the library.
 * @source SAML 2.0 Core §3.7.3; SAML 2.0 Profiles §4.4
 */
export async function readLogoutRequest(
  library: SAML,
  xml: string,
  { parties, message, now }: { parties: SamlConfig; message: SamlLogoutMessage; now: number },
): Promise<SamlLogout> {
  const { RelayState, SigAlg, Signature } = message;
  if (SigAlg === "" || Signature === "") throw new LoginError("signature", sentence("login.logout-request-unsigned"));
  const profile = await validated(library, message);
  const tag = /<(?:[\w.-]+:)?LogoutRequest\b[^>]*>/.exec(xml)?.[0] ?? "";
  const attribute = (name: string): string => new RegExp(`\\s${name}\\s*=\\s*["']([^"']*)["']`).exec(tag)?.[1] ?? "";
  const destination = attribute("Destination");
  if (destination !== "" && destination !== parties.logoutCallbackUrl)
    throw new LoginError("audience", sentence("login.logout-request-recipient"));
  const age = now - Date.parse(attribute("IssueInstant"));
  if (!(Math.abs(age) <= MAX_AGE_MS + parties.clockToleranceMs))
    throw new LoginError("expired", sentence("login.logout-request-expired"));
  const isAnswered = parties.logoutUrl !== null && parties.logoutUrl !== "";
  return {
    id: profile.ID as string,
    nameId: profile.nameID,
    sessionIndex: profile.sessionIndex ?? null,
    location: isAnswered ? await library.getLogoutResponseUrlAsync(profile, RelayState ?? "", {}, true) : null,
  };
}

/** Signatures cover the parameters as the provider has encoded them, some of them with small hexadecimal digits. */
async function validated(library: SAML, { SAMLRequest, RelayState, SigAlg, Signature }: SamlLogoutMessage) {
  const values = { SAMLRequest, ...(RelayState === null ? {} : { RelayState }), SigAlg };
  const upper = Object.entries(values).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const lower = upper.map((pair) => pair.replace(/%[\dA-F]{2}/g, (code) => code.toLowerCase()));
  const container = { ...values, Signature };
  const { profile } = await library.validateRedirectAsync(container, upper.join("&")).catch((error: unknown) => {
    if (!(error instanceof Error && /query signature/.test(error.message))) throw error;
    return library.validateRedirectAsync(container, lower.join("&"));
  });
  if (!profile) throw new LoginError("answer", sentence("login.response-unreadable"));
  return profile;
}
