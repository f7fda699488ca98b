import { createHmac, randomBytes } from "node:crypto";
import type { Clock } from "#plugin-api";
import { ALLOWED, type Call, type Callee, type CallHandlers, placeCall } from "./call.ts";
import { createClientTransactions } from "./client-transactions.ts";
import { tagOf } from "./dialog.ts";
import type { Credentials } from "./digest.ts";
import type { Hop } from "./hop.ts";
import { first, type SipRequest, type SipResponse, sequenceOf } from "./message.ts";
import { callIdOf, createOutbound } from "./outbound.ts";
import { type Binding, type Registration, register } from "./registration.ts";
import { createServerTransactions, type Respond } from "./server-transactions.ts";
import { type Arrival, openTransports, type TransportNeeds, type Transports } from "./transports.ts";
import { type SipUri, writeUri } from "./uri.ts";

/** A SIP user agent: it calls, asks and answers. @source RFC 3261 */
export interface Agent {
  readonly ports: Transports["ports"];
  /** Own address as a host sees it. */
  addressTo(host: string): Promise<string>;
  call(callee: Callee, handlers: CallHandlers): Call;
  /** Asks a device or a server whether it is there; rejects with SipFault. */
  options(uri: SipUri, hop: Hop, credentials: Credentials | null): Promise<SipResponse>;
  /** Tells a registrar where we are, or with 0 seconds that we are gone; rejects with SipFault. */
  register(binding: Binding): Promise<Registration>;
  close(): Promise<void>;
}

/** What an agent needs. */
export interface AgentNeeds extends Omit<TransportNeeds, "onMessage"> {
  clock: Clock;
  /** Takes a REGISTER; without, none is taken. */
  onRegister?(arrival: Arrival & { message: SipRequest }, respond: Respond): void;
}

const ID_BYTES = 12;

/** Opens an agent; rejects when a port can't be had. */
export async function openAgent(needs: AgentNeeds): Promise<Agent> {
  const { clock, onRegister } = needs;
  const calls = new Map<string, Call>();
  const id = (): string => randomBytes(ID_BYTES).toString("hex");
  const secret = randomBytes(ID_BYTES);
  const tag = (name: string): string =>
    createHmac("sha256", secret)
      .update(name)
      .digest("hex")
      .slice(0, ID_BYTES * 2);
  const answering = createServerTransactions({ clock, tag });

  const takeRequest = (arrival: Arrival & { message: SipRequest }, respond: Respond): void => {
    const { message } = arrival;
    const isWithin = tagOf(first(message, "To")) !== "";
    if (isWithin && calls.get(callIdOf(message))?.take(message, respond)) return;
    if (isWithin && message.method !== "OPTIONS") respond(481, "Call/Transaction Does Not Exist");
    else if (message.method === "OPTIONS")
      respond(200, "OK", [
        ["Allow", ALLOWED],
        ["Accept", "application/sdp"],
      ]);
    else if (message.method === "REGISTER" && onRegister) onRegister(arrival, respond);
    else if (message.method === "INVITE") respond(404, "Not Found");
    else if (message.method === "CANCEL") respond(481, "Call/Transaction Does Not Exist");
    else respond(405, "Method Not Allowed", [["Allow", ALLOWED]]);
  };
  const takeResponse = (response: SipResponse): void => {
    if (transactions.take(response)) return;
    const isRepeated = sequenceOf(response).method === "INVITE" && response.status >= 200 && response.status < 300;
    if (isRepeated) calls.get(callIdOf(response))?.takeAgain(response);
  };

  const transports = await openTransports({
    ...needs,
    onMessage(arrival) {
      const { message } = arrival;
      if (message.kind === "response") takeResponse(message);
      else answering.take({ ...arrival, message }, (respond) => takeRequest({ ...arrival, message }, respond));
    },
  });
  const transactions = createClientTransactions({ clock, send: transports.send });
  const outbound = createOutbound({ transports, transactions, id });

  return {
    ports: transports.ports,
    addressTo: transports.addressTo,
    call(callee, handlers) {
      const call = placeCall(callee, handlers, {
        clock,
        outbound,
        id,
        onOver: ({ id: over }) => void calls.delete(over),
      });
      calls.set(call.id, call);
      return call;
    },
    async options(uri, hop, credentials) {
      const contact = await outbound.contact(hop, "carillon");
      const target = writeUri(uri);
      const headers = [
        ["From", `<${contact.uri}>;tag=${id()}`],
        ["To", `<${target}>`],
        ["Call-ID", id()],
        ["CSeq", "1 OPTIONS"],
        ["Contact", `<${contact.uri}>`],
        ["Accept", "application/sdp"],
      ] as const;
      return outbound.ask(hop, { method: "OPTIONS", uri: target, headers, body: "" }, credentials);
    },
    register: (binding) => register(binding, { outbound, id }),
    async close() {
      answering.stop();
      transactions.stop();
      await transports.close();
    },
  };
}
