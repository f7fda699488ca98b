import type { SipCredentials } from "./digest.ts";
import { MAX_ROUNDS } from "./digest-session.ts";
import type { Hop } from "./hop.ts";
import type { RequestSender } from "./request-sender.ts";
import { firstHeader, headerValues, type SipResponse } from "./sip-message.ts";
import { escapeUser, formatSipUri, parseNameAddress, parseSipUri, type SipUri } from "./sip-uri.ts";

/** A place that is told to a registrar, time and again. */
export interface SipRegistrationRequest {
  /** The registrar, and the name that is reached here. */
  uri: SipUri;
  user: string;
  hop: Hop;
  credentials: SipCredentials | null;
  /** How long it is to hold; 0 says that we are gone. */
  seconds: number;
  /** The same for all that is told of one place; `sequence` rises by ten at least. */
  callId: string;
  sequence: number;
}

/** What a registrar has answered. */
export interface SipRegistrationResult extends Pick<SipResponse, "status" | "reason"> {
  /** How long it holds, as the registrar says. */
  seconds: number;
}

/** What a registrar may ask for at least, s; who asks for more is not believed. own choice */
const MAX_EXPIRES_S = 86_400;

/** Tells a registrar where we are; rejects with SipFault. @source RFC 3261 §10.2 */
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
  const answer = await sendOnce(sequence, seconds);
  const least = parseSeconds(firstHeader(answer, "Min-Expires"));
  // @source RFC 3261 §10.2.8
  const isTooShort =
    answer.status === 423 && seconds > 0 && least !== null && least > seconds && least <= MAX_EXPIRES_S;
  const last = isTooShort ? await sendOnce(sequence + MAX_ROUNDS + 1, least) : answer;
  return {
    status: last.status,
    reason: last.reason,
    seconds: grantedSeconds(last, contact) ?? (isTooShort ? least : seconds),
  };
}

/** How long our own place holds, which may be among those of others; null where nothing is said. */
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
