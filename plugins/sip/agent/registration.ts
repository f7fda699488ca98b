import { MOST_ROUNDS } from "./challenges.ts";
import type { Credentials } from "./digest.ts";
import type { Hop } from "./hop.ts";
import { all, first, type SipResponse } from "./message.ts";
import type { Outbound } from "./outbound.ts";
import { escapeUser, readAddress, readUri, type SipUri, writeUri } from "./uri.ts";

/** A place that is told to a registrar, time and again. */
export interface Binding {
  /** The registrar, and the name that is reached here. */
  uri: SipUri;
  user: string;
  hop: Hop;
  credentials: Credentials | null;
  /** How long it is to hold; 0 says that we are gone. */
  seconds: number;
  /** The same for all that is told of one place; `sequence` rises by ten at least. */
  callId: string;
  sequence: number;
}

/** What a registrar has answered. */
export interface Registration extends Pick<SipResponse, "status" | "reason"> {
  /** How long it holds, as the registrar says. */
  seconds: number;
}

/** What a registrar may ask for at least, s; who asks for more is not believed. own choice */
const MOST_S = 86_400;

/** Tells a registrar where we are; rejects with SipFault. @source RFC 3261 §10.2 */
export async function register(
  { uri, user, hop, credentials, seconds, callId, sequence }: Binding,
  { outbound, id }: { outbound: Pick<Outbound, "contact" | "ask">; id(): string },
): Promise<Registration> {
  const { uri: contact } = await outbound.contact(hop, escapeUser(user));
  const name = writeUri({ ...uri, user: escapeUser(user), params: new Map() });
  const registrar = writeUri({ ...uri, user: null, params: new Map() });
  const tell = (number: number, expires: number): Promise<SipResponse> => {
    const headers = [
      ["From", `<${name}>;tag=${id()}`],
      ["To", `<${name}>`],
      ["Call-ID", callId],
      ["CSeq", `${number} REGISTER`],
      ["Contact", `<${contact}>`],
      ["Expires", String(expires)],
    ] as const;
    return outbound.ask(hop, { method: "REGISTER", uri: registrar, headers, body: "" }, credentials);
  };
  const answer = await tell(sequence, seconds);
  const least = secondsOf(first(answer, "Min-Expires"));
  // @source RFC 3261 §10.2.8
  const isTooShort = answer.status === 423 && seconds > 0 && least !== null && least > seconds && least <= MOST_S;
  const last = isTooShort ? await tell(sequence + MOST_ROUNDS + 1, least) : answer;
  return {
    status: last.status,
    reason: last.reason,
    seconds: grantedIn(last, contact) ?? (isTooShort ? least : seconds),
  };
}

/** How long our own place holds, which may be among those of others; null where nothing is said. */
function grantedIn(response: SipResponse, contact: string): number | null {
  const ours = readUri(contact);
  const own = all(response, "Contact")
    .flatMap((text) => readAddress(text) ?? [])
    .find(({ uri }) => uri.user === ours?.user && uri.host === ours?.host && uri.port === ours?.port);
  return secondsOf(own?.params.get("expires")) ?? secondsOf(first(response, "Expires"));
}

function secondsOf(text: string | null | undefined): number | null {
  return /^\d{1,9}$/.test(text?.trim() ?? "") ? Number(text) : null;
}
