import { createHmac, randomBytes } from "node:crypto";
import type { Clock } from "#plugin-api";
import { placeCall } from "./call.ts";
import { CAPABILITIES, refuseExtensions, refuseMethod } from "./capabilities.ts";
import { createClientTransactions } from "./client-transactions.ts";
import { tagParameter } from "./dialog.ts";
import type { SipCredentials } from "./digest.ts";
import type { Hop } from "./hop.ts";
import { type IncomingCall, receiveCall } from "./incoming-call.ts";
import { type SipRegistrationRequest, type SipRegistrationResult, sendRegister } from "./registration.ts";
import { callIdOf, createRequestSender } from "./request-sender.ts";
import { createServerTransactions, type Respond } from "./server-transactions.ts";
import type { CallHandlers, CallParameters, SipCall } from "./sip-call.ts";
import { cseqOf, firstHeader, type SipRequest, type SipResponse } from "./sip-message.ts";
import { formatSipUri, parseSipUri, type SipUri } from "./sip-uri.ts";
import { type IncomingSipMessage, openSipTransports, type SipTransportDeps, type SipTransports } from "./transports.ts";

/** A SIP user agent. @source RFC 3261 */
export interface SipUserAgent {
  readonly ports: SipTransports["ports"];
  /** Local address as seen by a host. */
  addressTo(host: string): Promise<string>;
  /** The machine's addresses or routes changed: unanswered requests are sent again from the new ones. */
  networkChanged: SipTransports["networkChanged"];
  call(callee: CallParameters, handlers: CallHandlers): SipCall;
  /** Sends OPTIONS; rejects with SipError. */
  options(uri: SipUri, hop: Hop, credentials: SipCredentials | null): Promise<SipResponse>;
  /** Sends REGISTER, with 0 seconds to unregister; rejects with SipError. */
  register(binding: SipRegistrationRequest): Promise<SipRegistrationResult>;
  close(): Promise<void>;
}

export interface SipUserAgentDeps extends Omit<SipTransportDeps, "onMessage"> {
  clock: Clock;
  /** Handles REGISTER; without it, registrations are refused. */
  onRegister?(arrival: IncomingSipMessage & { message: SipRequest }, respond: Respond): void;
  /** Handles an incoming call; without it, calls get 404. */
  onCall?(call: IncomingCall): void;
}

const ID_BYTES = 12;

/** Opens a user agent; rejects if a port is not available. */
export async function openSipUserAgent(deps: SipUserAgentDeps): Promise<SipUserAgent> {
  const { clock, onRegister, onCall } = deps;
  const calls = new Map<string, SipCall>();
  const incoming = new Map<string, IncomingCall>();
  const newId = (): string => randomBytes(ID_BYTES).toString("hex");
  const secret = randomBytes(ID_BYTES);
  const tag = (name: string): string =>
    createHmac("sha256", secret)
      .update(name)
      .digest("hex")
      .slice(0, ID_BYTES * 2);
  const serverTransactions = createServerTransactions({ clock, tag });

  const handleRequest = (
    arrival: IncomingSipMessage & { message: SipRequest },
    respond: Respond,
    localTag: string,
  ): void => {
    const { message } = arrival;
    const callId = callIdOf(message);
    const isWithin = tagParameter(firstHeader(message, "To")) !== "";
    const call = calls.get(callId) ?? incoming.get(callId);
    if (isWithin && call?.handleRequest(message, respond)) return;
    if (isWithin && message.method !== "OPTIONS") respond(481, "Call/Transaction Does Not Exist");
    else if (message.method === "CANCEL") {
      if (!incoming.get(callId)?.handleCancel(message, respond)) respond(481, "Call/Transaction Does Not Exist");
    } else if (!refuseUri(message.uri, respond) && !refuseExtensions(message, respond)) {
      if (message.method === "OPTIONS") respond(200, "OK", CAPABILITIES);
      else if (message.method === "REGISTER" && onRegister) onRegister(arrival, respond);
      else if (message.method === "INVITE") handleInvite(arrival, respond, localTag);
      else refuseMethod(message, respond);
    }
  };
  const handleInvite = (
    { message, from }: IncomingSipMessage & { message: SipRequest },
    respond: Respond,
    localTag: string,
  ): void => {
    const id = callIdOf(message);
    if (!onCall) return void respond(404, "Not Found");
    // The same call on another path. @source RFC 3261 §8.2.2.2
    if (calls.has(id) || incoming.has(id)) return void respond(482, "Loop Detected");
    const call = receiveCall({ message, from }, respond, {
      ...{ clock, localTag, outbound: requestSender },
      onOver: () => void incoming.delete(id),
    });
    incoming.set(id, call);
    onCall(call);
  };
  const handleResponse = (response: SipResponse): void => {
    if (clientTransactions.handleResponse(response)) return;
    const isRepeated = cseqOf(response).method === "INVITE" && response.status >= 200 && response.status < 300;
    if (isRepeated) calls.get(callIdOf(response))?.handleRetransmittedAnswer(response);
  };

  const transports = await openSipTransports({
    ...deps,
    onMessage(arrival) {
      const { message } = arrival;
      if (message.kind === "response") return handleResponse(message);
      serverTransactions.handleRequest({ ...arrival, message }, (respond, localTag) =>
        handleRequest({ ...arrival, message }, respond, localTag),
      );
      const acknowledged = message.method === "ACK" ? callIdOf(message) : null;
      if (acknowledged !== null) (calls.get(acknowledged) ?? incoming.get(acknowledged))?.handleAck(message);
    },
  });
  const clientTransactions = createClientTransactions({ clock, send: transports.send });
  const requestSender = createRequestSender({ transports, transactions: clientTransactions, newId });

  return {
    ports: transports.ports,
    addressTo: transports.localAddressFor,
    networkChanged(addresses) {
      transports.networkChanged(addresses);
      clientTransactions.retransmit();
    },
    call(callee, handlers) {
      const call = placeCall(callee, handlers, {
        clock,
        outbound: requestSender,
        newId,
        onOver: ({ id: over }) => void calls.delete(over),
      });
      calls.set(call.id, call);
      return call;
    },
    async options(uri, hop, credentials) {
      const contact = await requestSender.contact(hop, "carillon");
      const target = formatSipUri(uri);
      const headers = [
        ["From", `<${contact.uri}>;tag=${newId()}`],
        ["To", `<${target}>`],
        ["Call-ID", newId()],
        ["CSeq", "1 OPTIONS"],
        ["Contact", `<${contact.uri}>`],
        ["Accept", "application/sdp"],
      ] as const;
      return requestSender.request(hop, { method: "OPTIONS", uri: target, headers, body: "" }, credentials);
    },
    register: (binding) => sendRegister(binding, { outbound: requestSender, id: newId }),
    async close() {
      serverTransactions.stop();
      clientTransactions.stop();
      await transports.close();
    },
  };
}

/** Refuses a request for a URI of another scheme, or an invalid one; false if it may be handled. @source RFC 3261 §8.2.2.1 */
function refuseUri(uri: string, respond: Respond): boolean {
  if (parseSipUri(uri)) return false;
  if (/^<|^sips?:/i.test(uri)) respond(400, "Bad Request-URI");
  else respond(416, "Unsupported URI Scheme");
  return true;
}
