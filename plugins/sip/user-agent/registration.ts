import type { SipCredentials } from "./digest.ts";
import { MAX_ROUNDS } from "./digest-session.ts";
import type { Hop } from "./hop.ts";
import type { RequestSender } from "./request-sender.ts";
import { firstHeader, headerValues, type SipResponse } from "./sip-message.ts";
import { escapeUser, formatSipUri, parseNameAddress, parseSipUri, type SipUri } from "./sip-uri.ts";

/** A registration to send. */
export interface SipRegistrationRequest {
  /** Registrar, and the user to register. */
  uri: SipUri;
  user: string;
  hop: Hop;
  credentials: SipCredentials | null;
  /** Requested expiry; 0 unregisters. */
  seconds: number;
  /** Constant per binding; `sequence` increases by at least ten per call. */
  callId: string;
  sequence: number;
}

export interface SipRegistrationResult extends Pick<SipResponse, "status" | "reason"> {
  /** Granted expiry. */
  seconds: number;
}

/** Upper limit of an accepted Min-Expires, s. */
const MAX_EXPIRES_S = 86_400;

/** Sends a REGISTER; rejects with SipError. @source RFC 3261 §10.2 */
export async function sendRegister(
  { uri, user, hop, credentials, seconds, callId, sequence }: SipRegistrationRequest,
  { outbound, id }: { outbound: Pick<RequestSender, "contact" | "request">; id(): string },
): Promise<SipRegistrationResult> {
  const { uri: contact } = await outbound.contact(hop, escapeUser(user));
  const name = formatSipUri({ ...uri, user: escapeUser(user), params: new Map() });
  const registrar = formatSipUri({ ...uri, user: null, params: new Map() });
  const sendOnce = (number: number, expires: number): Promise<SipResponse> => {
    const headers = [
      ["From", `<${name}>;tag=${id()}`],
      ["To", `<${name}>`],
      ["Call-ID", callId],
      ["CSeq", `${number} REGISTER`],
      ["Contact", `<${contact}>`],
      ["Expires", String(expires)],
    ] as const;
    return outbound.request(hop, { method: "REGISTER", uri: registrar, headers, body: "" }, credentials);
  };
  const response = await sendOnce(sequence, seconds);
  const minExpires = parseSeconds(firstHeader(response, "Min-Expires"));
  // @source RFC 3261 §10.2.8
  const isTooShort =
    response.status === 423 &&
    seconds > 0 &&
    minExpires !== null &&
    minExpires > seconds &&
    minExpires <= MAX_EXPIRES_S;
  const last = isTooShort ? await sendOnce(sequence + MAX_ROUNDS + 1, minExpires) : response;
  return {
    status: last.status,
    reason: last.reason,
    seconds: grantedSeconds(last, contact) ?? (isTooShort ? minExpires : seconds),
  };
}

/** Granted expiry of our contact, which may be one of several; null if not given. */
function grantedSeconds(response: SipResponse, contact: string): number | null {
  const ours = parseSipUri(contact);
  const own = headerValues(response, "Contact")
    .flatMap((text) => parseNameAddress(text) ?? [])
    .find(({ uri }) => uri.user === ours?.user && uri.host === ours?.host && uri.port === ours?.port);
  return parseSeconds(own?.params.get("expires")) ?? parseSeconds(firstHeader(response, "Expires"));
}

function parseSeconds(text: string | null | undefined): number | null {
  return /^\d{1,9}$/.test(text?.trim() ?? "") ? Number(text) : null;
}
