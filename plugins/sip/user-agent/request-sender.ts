import type { ClientTransactions, ResponseHandlers } from "./client-transactions.ts";
import type { SipCredentials } from "./digest.ts";
import { createDigestSession } from "./digest-session.ts";
import { type Hop, SipError, type SipProtocol } from "./hop.ts";
import { firstHeader, formatSipMessage, type SipHeaders, type SipRequest, type SipResponse } from "./sip-message.ts";
import type { SipTransports } from "./transports.ts";

/** A request as its sender thinks of it; what every request has is added. */
export type RequestDraft = Omit<SipRequest, "kind">;

/** Sends requests of ours. */
export interface RequestSender {
  /** Address under which a hop reaches us. */
  contact(hop: Hop, user: string): Promise<{ uri: string; address: string }>;
  /** Sends a request as a transaction; resolves with it as it was sent. */
  send(hop: Hop, sketch: RequestDraft, handlers: ResponseHandlers): Promise<SipRequest>;
  /** The same for a request that has its Via. */
  sendWithVia(hop: Hop, request: SipRequest, handlers: ResponseHandlers): void;
  /** Sends what is not answered. */
  sendWithoutTransaction(hop: Hop, sketch: RequestDraft): Promise<SipRequest>;
  resend(hop: Hop, request: SipRequest): void;
  /**
   * Sends a request outside of INVITE, with name and password where it is asked for them, which takes a number more each
   * time; rejects with SipFault.
   */
  request(hop: Hop, sketch: RequestDraft, credentials: SipCredentials | null): Promise<SipResponse>;
}

/** @source RFC 3261 §8.1.1.7 */
const BRANCH_PREFIX = "z9hG4bK";
const MAX_FORWARDS = 70;
const USER_AGENT = "Carillon";

/** What sending needs. */
export interface RequestSenderDeps {
  transports: Pick<SipTransports, "send" | "localAddressFor" | "ports">;
  transactions: Pick<ClientTransactions, "start">;
  newId(): string;
}

/** Makes it. */
export function createRequestSender({ transports, transactions, newId }: RequestSenderDeps): RequestSender {
  const complete = async (hop: Hop, { method, uri, headers, body }: RequestDraft): Promise<SipRequest> => {
    const address = await transports.localAddressFor(hop.host);
    const { protocol } = hop;
    const via = `SIP/2.0/${protocol.toUpperCase()} ${address}:${portOf(protocol)};branch=${BRANCH_PREFIX}${newId()};rport`;
    const own: SipHeaders = [
      ["Via", via],
      ["Max-Forwards", String(MAX_FORWARDS)],
    ];
    return { kind: "request", method, uri, headers: [...own, ...headers, ["User-Agent", USER_AGENT]], body };
  };
  // Without a port of our own for TLS, answers come by the connection that we made.
  const portOf = (protocol: SipProtocol): number => transports.ports[protocol] || transports.ports.tcp;

  const askOnce = (hop: Hop, sketch: RequestDraft): Promise<SipResponse> =>
    new Promise((resolve, reject) => {
      const onFailed = (words: string): void => reject(new SipError(words));
      outbound.send(hop, sketch, { onFinal: resolve, onFailed }).catch(reject);
    });

  const outbound: RequestSender = {
    async contact(hop, user) {
      const address = await transports.localAddressFor(hop.host);
      const tail = hop.protocol === "udp" ? "" : `;transport=${hop.protocol}`;
      return { uri: `sip:${user}@${address}:${portOf(hop.protocol)}${tail}`, address };
    },
    async send(hop, sketch, handlers) {
      const request = await complete(hop, sketch);
      transactions.start(hop, request, handlers);
      return request;
    },
    sendWithVia: (hop, request, handlers) =>
      transactions.start(
        hop,
        { ...request, headers: [...request.headers, ["Max-Forwards", String(MAX_FORWARDS)]] },
        handlers,
      ),
    async sendWithoutTransaction(hop, sketch) {
      const request = await complete(hop, sketch);
      outbound.resend(hop, request);
      return request;
    },
    resend: (hop, request) => void transports.send(hop, formatSipMessage(request)).catch(() => {}),
    async request(hop, sketch, credentials) {
      const proofs = createDigestSession(credentials, newId);
      for (let { headers } = sketch; ; headers = headers.map(nextSequence)) {
        const response = await askOnce(hop, { ...sketch, headers: [...headers, ...proofs.headers] });
        if (!proofs.addChallenge(response, sketch)) return response;
      }
    },
  };
  return outbound;
}

function nextSequence([name, value]: SipHeaders[number]): SipHeaders[number] {
  return name === "CSeq" ? [name, value.replace(/^\d+/, (number) => String(Number(number) + 1))] : [name, value];
}

/** The Call-ID of a message, which names what belongs together. */
export function callIdOf(message: SipRequest | SipResponse): string {
  return firstHeader(message, "Call-ID") ?? "";
}
