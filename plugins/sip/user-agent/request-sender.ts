import type { ClientTransactions, ResponseHandlers } from "./client-transactions.ts";
import type { SipCredentials } from "./digest.ts";
import { createDigestSession } from "./digest-session.ts";
import { type Hop, SipError, type SipProtocol } from "./hop.ts";
import { firstHeader, formatSipMessage, type SipHeaders, type SipRequest, type SipResponse } from "./sip-message.ts";
import { BRANCH_PREFIX } from "./timers.ts";
import type { SipTransports } from "./transports.ts";

/** A request without the common headers. */
export type RequestDraft = Omit<SipRequest, "kind">;

/** Sends outgoing requests. */
export interface RequestSender {
  /** Our address as seen by a hop. */
  contact(hop: Hop, user: string): Promise<{ uri: string; address: string }>;
  /** Sends a request in a transaction; resolves with the complete request. */
  send(hop: Hop, draft: RequestDraft, handlers: ResponseHandlers): Promise<SipRequest>;
  /** Sends a request that already has a Via. */
  sendWithVia(hop: Hop, request: SipRequest, handlers: ResponseHandlers): void;
  /** Sends a request without a response, such as ACK. */
  sendWithoutTransaction(hop: Hop, draft: RequestDraft): Promise<SipRequest>;
  resend(hop: Hop, request: SipRequest): void;
  /** Sends a non-INVITE request and answers challenges, each with the next CSeq number; rejects with SipError. */
  request(hop: Hop, draft: RequestDraft, credentials: SipCredentials | null): Promise<SipResponse>;
}

const MAX_FORWARDS = 70;
const USER_AGENT = "Carillon";

export interface RequestSenderDeps {
  transports: Pick<SipTransports, "send" | "localAddressFor" | "ports">;
  transactions: Pick<ClientTransactions, "start">;
  newId(): string;
}

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
  // Without a TLS listener responses arrive on our own connection.
  const portOf = (protocol: SipProtocol): number => transports.ports[protocol] || transports.ports.tcp;

  const requestOnce = (hop: Hop, draft: RequestDraft): Promise<SipResponse> =>
    new Promise((resolve, reject) => {
      const onFailed = (reason: string): void => reject(new SipError(reason));
      outbound.send(hop, draft, { onFinal: resolve, onFailed }).catch(reject);
    });

  const outbound: RequestSender = {
    async contact(hop, user) {
      const address = await transports.localAddressFor(hop.host);
      const tail = hop.protocol === "udp" ? "" : `;transport=${hop.protocol}`;
      return { uri: `sip:${user}@${address}:${portOf(hop.protocol)}${tail}`, address };
    },
    async send(hop, draft, handlers) {
      const request = await complete(hop, draft);
      transactions.start(hop, request, handlers);
      return request;
    },
    sendWithVia: (hop, request, handlers) =>
      transactions.start(
        hop,
        { ...request, headers: [...request.headers, ["Max-Forwards", String(MAX_FORWARDS)]] },
        handlers,
      ),
    async sendWithoutTransaction(hop, draft) {
      const request = await complete(hop, draft);
      outbound.resend(hop, request);
      return request;
    },
    resend: (hop, request) => void transports.send(hop, formatSipMessage(request)).catch(() => {}),
    async request(hop, draft, credentials) {
      const digest = createDigestSession(credentials, newId);
      for (let { headers } = draft; ; headers = headers.map(nextSequence)) {
        const response = await requestOnce(hop, { ...draft, headers: [...headers, ...digest.headers] });
        if (!digest.addChallenge(response, draft)) return response;
      }
    },
  };
  return outbound;
}

function nextSequence([name, value]: SipHeaders[number]): SipHeaders[number] {
  return name === "CSeq" ? [name, value.replace(/^\d+/, (number) => String(Number(number) + 1))] : [name, value];
}

export function callIdOf(message: SipRequest | SipResponse): string {
  return firstHeader(message, "Call-ID") ?? "";
}
