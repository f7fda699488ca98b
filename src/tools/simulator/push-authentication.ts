import { recordError, type SimulatorPhone } from "./phone.ts";
import type { SimulatorState } from "./simulator-state.ts";

/** How long a phone waits for the authentication URL. @source docs/decisions/0032-phone-push.md */
const AUTH_TIMEOUT_MS = 3000;
const MAX_RESPONSE_BYTES = 4096;

/** Credentials of a Basic Authorization header; null if there are none. */
export function parseBasicAuthorization(header: string | undefined): { user: string; password: string } | null {
  const encoded = /^Basic\s+([A-Za-z0-9+/]+=*)$/i.exec(header ?? "")?.[1];
  if (encoded === undefined) return null;
  const [, user, password] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, "base64").toString("utf8")) ?? [];
  return user === undefined || password === undefined ? null : { user, password };
}

/**
 * Asks the authentication URL whether these credentials may push; only the body AUTHORIZED allows it. Without a URL, without
 * a response within 3 s, or with any other response the push is rejected. The URL is never logged, as it contains the
 * password.
 */
export async function isPushAuthorized(
  simulator: SimulatorState,
  phone: SimulatorPhone,
  credentials: { user: string; password: string },
): Promise<boolean> {
  if (simulator.authUrl === null) {
    recordError(phone, "authentication: no URL is set");
    return false;
  }
  phone.authCalls++;
  const query = new URLSearchParams({ UserID: credentials.user, Password: credentials.password });
  query.set("devicename", phone.name);
  const url = `${simulator.authUrl}${simulator.authUrl.includes("?") ? "&" : "?"}${query}`;
  const limits = { timeoutMs: AUTH_TIMEOUT_MS, maxBytes: MAX_RESPONSE_BYTES };
  try {
    const answer = await simulator.outgoing.send({ url, localAddress: phone.address, headers: {}, ...limits });
    const verdict = answer.body.toString("utf8").trim();
    if (answer.status === 200 && verdict === "AUTHORIZED") return true;
    recordError(phone, `authentication: refused with status ${answer.status}`);
  } catch (error) {
    recordError(phone, `authentication: ${error instanceof Error ? error.message : String(error)}`);
  }
  return false;
}
