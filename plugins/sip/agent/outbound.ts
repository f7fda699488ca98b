import { createProofs } from "./challenges.ts";
import type { ClientTransactions, ResponseHandlers } from "./client-transactions.ts";
import type { Credentials } from "./digest.ts";
import { type Hop, type Protocol, SipFault } from "./hop.ts";
import { first, type Headers, type SipRequest, type SipResponse, writeMessage } from "./message.ts";
import type { Transports } from "./transports.ts";

/** A request as its sender thinks of it; what every request has is added. */
export type Sketch = Omit<SipRequest, "kind">;

/** Sends requests of ours. */
export interface Outbound {
  /** Address under which a hop reaches us. */
  contact(hop: Hop, user: string): Promise<{ uri: string; address: string }>;
  /** Sends a request as a transaction; resolves with it as it was sent. */
  send(hop: Hop, sketch: Sketch, handlers: ResponseHandlers): Promise<SipRequest>;
  /** The same for a request that has its Via. */
  sendAs(hop: Hop, request: SipRequest, handlers: ResponseHandlers): void;
  /** Sends what is not answered. */
  sendOnce(hop: Hop, sketch: Sketch): Promise<SipRequest>;
  repeat(hop: Hop, request: SipRequest): void;
  /**
   * Sends a request outside of INVITE, with name and password where it is asked for them, which takes a number more each
   * time; rejects with SipFault.
   */
  ask(hop: Hop, sketch: Sketch, credentials: Credentials | null): Promise<SipResponse>;
}

/** @source RFC 3261 §8.1.1.7 */
const BRANCH_MARK = "z9hG4bK";
const MOST_FORWARDS = 70;
const AGENT = "Carillon";

/** What sending needs. */
export interface OutboundNeeds {
  transports: Pick<Transports, "send" | "addressTo" | "ports">;
  transactions: Pick<ClientTransactions, "start">;
  id(): string;
}

/** Makes it. */
export function createOutbound({ transports, transactions, id }: OutboundNeeds): Outbound {
  const complete = async (hop: Hop, { method, uri, headers, body }: Sketch): Promise<SipRequest> => {
    const address = await transports.addressTo(hop.host);
    const { protocol } = hop;
    const via = `SIP/2.0/${protocol.toUpperCase()} ${address}:${portOf(protocol)};branch=${BRANCH_MARK}${id()};rport`;
    const own: Headers = [
      ["Via", via],
      ["Max-Forwards", String(MOST_FORWARDS)],
    ];
    return { kind: "request", method, uri, headers: [...own, ...headers, ["User-Agent", AGENT]], body };
  };
  // Without a port of our own for TLS, answers come by the connection that we made.
  const portOf = (protocol: Protocol): number => transports.ports[protocol] || transports.ports.tcp;

  const askOnce = (hop: Hop, sketch: Sketch): Promise<SipResponse> =>
    new Promise((resolve, reject) => {
      const onFailed = (words: string): void => reject(new SipFault(words));
      outbound.send(hop, sketch, { onFinal: resolve, onFailed }).catch(reject);
    });

  const outbound: Outbound = {
    async contact(hop, user) {
      const address = await transports.addressTo(hop.host);
      const tail = hop.protocol === "udp" ? "" : `;transport=${hop.protocol}`;
      return { uri: `sip:${user}@${address}:${portOf(hop.protocol)}${tail}`, address };
    },
    async send(hop, sketch, handlers) {
      const request = await complete(hop, sketch);
      transactions.start(hop, request, handlers);
      return request;
    },
    sendAs: (hop, request, handlers) =>
      transactions.start(
        hop,
        { ...request, headers: [...request.headers, ["Max-Forwards", String(MOST_FORWARDS)]] },
        handlers,
      ),
    async sendOnce(hop, sketch) {
      const request = await complete(hop, sketch);
      outbound.repeat(hop, request);
      return request;
    },
    repeat: (hop, request) => void transports.send(hop, writeMessage(request)).catch(() => {}),
    async ask(hop, sketch, credentials) {
      const proofs = createProofs(credentials, id);
      for (let { headers } = sketch; ; headers = headers.map(nextSequence)) {
        const response = await askOnce(hop, { ...sketch, headers: [...headers, ...proofs.headers] });
        if (!proofs.add(response, sketch)) return response;
      }
    },
  };
  return outbound;
}

function nextSequence([name, value]: Headers[number]): Headers[number] {
  return name === "CSeq" ? [name, value.replace(/^\d+/, (number) => String(Number(number) + 1))] : [name, value];
}

/** The Call-ID of a message, which names what belongs together. */
export function callIdOf(message: SipRequest | SipResponse): string {
  return first(message, "Call-ID") ?? "";
}
