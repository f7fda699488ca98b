import type { Clock, Timer } from "#plugin-api";
import {
  cseqOf,
  firstHeader,
  formatSipMessage,
  headerValues,
  type SipHeaders,
  type SipRequest,
  type SipResponse,
} from "./sip-message.ts";
import { parseParameters } from "./sip-uri.ts";
import { BRANCH_PREFIX, T1_MS, T2_MS, TRANSACTION_TIMEOUT_MS } from "./timers.ts";
import type { IncomingSipMessage } from "./transports.ts";

/** Sends a response; the last status of 200 or more is final. */
export type Respond = (status: number, reason: string, headers?: SipHeaders, body?: string) => void;

/** Server transactions. @source RFC 3261 §17.2 */
export interface ServerTransactions {
  /**
   * Handles a request; `handle` is called once per request, with the To tag of its responses. Retransmissions get the
   * stored response.
   */
  handleRequest(
    arrival: IncomingSipMessage & { message: SipRequest },
    handle: (respond: Respond, tag: string) => void,
  ): void;
  stop(): void;
}

interface TransactionState {
  bytes: Buffer | null;
  again: Timer | null;
  end: Timer | null;
}

/** Limit that protects memory against floods. */
const MAX_TRANSACTIONS = 20_000;

/**
 * Creates the transactions. `tag` returns the To tag of responses, the same for the same name. Refusals and responses
 * to OPTIONS are recomputed instead of stored, so that floods under many names use no memory.
 * @source RFC 3261 §8.2.7
 */
export function createServerTransactions({
  clock,
  tag,
}: {
  clock: Clock;
  tag(name: string): string;
}): ServerTransactions {
  const open = new Map<string, TransactionState>();
  const remove = (key: string): void => {
    const entry = open.get(key);
    entry?.again?.cancel();
    entry?.end?.cancel();
    open.delete(key);
  };

  /** Retransmits a final response to INVITE until it is acknowledged. */
  const scheduleRetransmission = (
    entry: TransactionState,
    bytes: Buffer,
    reply: (bytes: Buffer) => void,
    delayMs: number,
  ): void => {
    entry.again = clock.after(delayMs, () => {
      reply(bytes);
      scheduleRetransmission(entry, bytes, reply, Math.min(delayMs * 2, T2_MS));
    });
  };

  return {
    handleRequest({ message, from, reply }, handle) {
      const key = transactionKey(message, from.host);
      const known = open.get(key);
      if (message.method === "ACK") {
        // The ACK of a 2xx has its own branch.
        for (const each of [key, callKey(key, message)]) open.get(each)?.again?.cancel();
        return;
      }
      if (known) {
        if (known.bytes) reply(known.bytes);
        return;
      }
      if (open.size >= MAX_TRANSACTIONS) return;
      const entry: TransactionState = { bytes: null, again: null, end: null };
      const isInvite = message.method === "INVITE";
      const keys = isInvite ? [key, callKey(key, message)] : [key];
      for (const each of keys) open.set(each, entry);
      entry.end = clock.after(TRANSACTION_TIMEOUT_MS, () => keys.forEach(remove));
      const toTag = tag(key);
      handle((status, reason, headers = [], body = "") => {
        // The transaction timed out, or the ports are closed.
        if (open.get(key) !== entry) return;
        const bytes = formatSipMessage(createResponse(message, from, { status, reason, headers, body, toTag }));
        reply(bytes);
        if (status >= 400 || message.method === "OPTIONS") return keys.forEach(remove);
        entry.bytes = bytes;
        if (isInvite && status >= 200) scheduleRetransmission(entry, bytes, reply, T1_MS);
      }, toTag);
    },
    stop() {
      for (const key of [...open.keys()]) remove(key);
    },
  };
}

function transactionKey(request: SipRequest, host: string): string {
  const via = headerValues(request, "Via")[0] ?? "";
  const given = parseParameters(via.replace(/^[^;]*/, "")).get("branch") ?? "";
  // Of the magic cookie alone all transactions of a careless device would be the same.
  const branch = given === "" || given === BRANCH_PREFIX ? `${firstHeader(request, "Call-ID")}` : given;
  const method = request.method === "ACK" ? "INVITE" : request.method;
  return `${branch.replace(/\s/g, "")} ${host} ${cseqOf(request).number} ${method}`;
}

/** Key shared by an INVITE and the ACK of its 2xx, instead of the branch. */
function callKey(key: string, request: SipRequest): string {
  return key.replace(/^\S+/, `call/${(firstHeader(request, "Call-ID") ?? "").replace(/\s/g, "")}`);
}

function createResponse(
  request: SipRequest,
  from: { host: string; port: number },
  given: { status: number; reason: string; headers: SipHeaders; body: string; toTag: string },
): SipResponse {
  const to = firstHeader(request, "To") ?? "";
  const hasTag = /;\s*tag=/i.test(to.replace(/^.*>/, ""));
  const vias = headerValues(request, "Via").map((via, at) => (at === 0 ? withReceived(via, from) : via));
  return {
    kind: "response",
    status: given.status,
    reason: given.reason,
    headers: [
      ...vias.map((via) => ["Via", via] as const),
      ["From", firstHeader(request, "From") ?? ""],
      ["To", hasTag || given.status === 100 ? to : `${to};tag=${given.toTag}`],
      ["Call-ID", firstHeader(request, "Call-ID") ?? ""],
      ["CSeq", firstHeader(request, "CSeq") ?? ""],
      ...given.headers,
    ],
    body: given.body,
  };
}

/** @source RFC 3581 §4 */
function withReceived(via: string, { host, port }: { host: string; port: number }): string {
  const marked = via.replace(/;\s*rport(?=\s*(;|$))/i, `;rport=${port}`);
  return /;\s*received=/i.test(marked) ? marked : `${marked};received=${host}`;
}
