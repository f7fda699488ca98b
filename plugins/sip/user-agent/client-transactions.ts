import type { Clock, Timer } from "#plugin-api";
import { sentence } from "../sentences.ts";
import type { Hop } from "./hop.ts";
import {
  cseqOf,
  firstHeader,
  formatSipMessage,
  headerValues,
  type SipRequest,
  type SipResponse,
} from "./sip-message.ts";
import { parseParameters } from "./sip-uri.ts";
import { T1_MS, T2_MS, T4_MS, TRANSACTION_TIMEOUT_MS } from "./timers.ts";

/** Callbacks of a transaction. Nothing follows `onFinal` or `onFailed`. */
export interface ResponseHandlers {
  onProvisional?(response: SipResponse): void;
  onFinal(response: SipResponse): void;
  /** No response, or a transport error. */
  onFailed(reason: string): void;
  /** False once the request is given up: it is not repeated, so that a peer that comes back does not act on it. */
  isWanted?(): boolean;
}

/** Client transactions. @source RFC 3261 §17.1 */
export interface ClientTransactions {
  /** Sends a request whose first Via has a unique branch; retransmits over UDP until a response arrives. */
  start(hop: Hop, request: SipRequest, handlers: ResponseHandlers): void;
  /** Dispatches a response; false if no transaction matches. */
  handleResponse(response: SipResponse): boolean;
  /** Retransmits what has no response yet at once: earlier responses may have gone to an address that is lost. */
  retransmit(): void;
  stop(): void;
}

/** Proxies wait for more than 3 minutes. @source RFC 3261 §16.6, timer C */
const MAX_RINGING_MS = 200_000;

interface PendingTransaction {
  hop: Hop;
  request: SipRequest;
  bytes: Buffer;
  handlers: ResponseHandlers;
  state: "trying" | "proceeding" | "completed";
  again: Timer | null;
  end: Timer | null;
  /** ACK of a non-2xx response, for retransmissions. */
  ack: Buffer | null;
}

/** `send` rejects with an Error for people. */
export function createClientTransactions(deps: {
  clock: Clock;
  send(hop: Hop, bytes: Buffer): Promise<void>;
}): ClientTransactions {
  const { clock, send } = deps;
  const pending = new Map<string, PendingTransaction>();

  const remove = (key: string, entry: PendingTransaction): void => {
    entry.again?.cancel();
    entry.end?.cancel();
    if (pending.get(key) === entry) pending.delete(key);
  };
  const fail = (key: string, entry: PendingTransaction, reason: string): void => {
    const was = entry.state;
    remove(key, entry);
    if (was !== "completed") entry.handlers.onFailed(reason);
  };
  const scheduleRetransmission = (key: string, entry: PendingTransaction, delayMs: number): void => {
    if (entry.hop.protocol !== "udp") return;
    const isInvite = entry.request.method === "INVITE";
    entry.again = clock.after(delayMs, () => {
      if (entry.handlers.isWanted?.() === false) return;
      send(entry.hop, entry.bytes).catch(() => {});
      const next = isInvite ? delayMs * 2 : Math.min(entry.state === "proceeding" ? T2_MS : delayMs * 2, T2_MS);
      scheduleRetransmission(key, entry, next);
    });
  };
  const handleFinal = (key: string, entry: PendingTransaction, response: SipResponse): void => {
    const wasCompleted = entry.state === "completed";
    const isInvite = entry.request.method === "INVITE";
    entry.state = "completed";
    entry.again?.cancel();
    if (isInvite && response.status >= 300) {
      entry.ack ??= formatSipMessage(createAck(entry.request, response));
      send(entry.hop, entry.ack).catch(() => {});
    }
    if (wasCompleted) return;
    entry.end?.cancel();
    // Retransmissions of a 2xx to INVITE go to the dialog's owner.
    if (isInvite && response.status < 300) remove(key, entry);
    else
      entry.end = clock.after(entry.hop.protocol !== "udp" ? 0 : isInvite ? TRANSACTION_TIMEOUT_MS : T4_MS, () =>
        remove(key, entry),
      );
    entry.handlers.onFinal(response);
  };

  return {
    start(hop, request, handlers) {
      const key = transactionKey(request);
      const bytes = formatSipMessage(request);
      const entry: PendingTransaction = {
        ...{ hop, request, bytes, handlers },
        state: "trying",
        again: null,
        end: null,
        ack: null,
      };
      pending.set(key, entry);
      scheduleRetransmission(key, entry, T1_MS);
      entry.end = clock.after(TRANSACTION_TIMEOUT_MS, () => fail(key, entry, sentence("no-response")));
      send(hop, bytes).catch((error: Error) => fail(key, entry, error.message));
    },
    handleResponse(response) {
      const key = transactionKey(response);
      const entry = pending.get(key);
      if (!entry) return false;
      if (response.status >= 200) handleFinal(key, entry, response);
      else if (entry.state !== "completed") {
        entry.state = "proceeding";
        if (entry.request.method === "INVITE") {
          entry.again?.cancel();
          // The caller limits the ring time; this only prevents an endless wait.
          entry.end?.cancel();
          entry.end = clock.after(MAX_RINGING_MS, () => fail(key, entry, sentence("no-response")));
        }
        entry.handlers.onProvisional?.(response);
      }
      return true;
    },
    retransmit() {
      for (const [key, entry] of pending) {
        if (entry.hop.protocol !== "udp" || entry.state === "completed") continue;
        // A provisional response ends the retransmission of an INVITE. @source RFC 3261 §17.1.1.2
        if (entry.state === "proceeding" && entry.request.method === "INVITE") continue;
        entry.again?.cancel();
        send(entry.hop, entry.bytes).catch(() => {});
        scheduleRetransmission(key, entry, T1_MS);
      }
    },
    stop() {
      for (const [key, entry] of pending) remove(key, entry);
    },
  };
}

function transactionKey(message: SipRequest | SipResponse): string {
  return `${parseParameters((headerValues(message, "Via")[0] ?? "").replace(/^[^;]*/, "")).get("branch") ?? ""} ${cseqOf(message).method}`;
}

/** ACK within the transaction. @source RFC 3261 §17.1.1.3 */
function createAck(request: SipRequest, response: SipResponse): SipRequest {
  const keep = ["From", "Call-ID", "Route", "Max-Forwards"];
  return {
    kind: "request",
    method: "ACK",
    uri: request.uri,
    headers: [
      ["Via", firstHeader(request, "Via") ?? ""],
      ...request.headers.filter(([name]) => keep.includes(name)),
      ["To", firstHeader(response, "To") ?? ""],
      ["CSeq", `${cseqOf(request).number} ACK`],
    ],
    body: "",
  };
}
