import type { Clock, Timer } from "#plugin-api";
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

/** What a request's sender is told. After `onFinal` or `onFailed` there is nothing more. */
export interface ResponseHandlers {
  onProvisional?(response: SipResponse): void;
  onFinal(response: SipResponse): void;
  /** No answer, or no way: in words. */
  onFailed(words: string): void;
}

/** Requests that wait for their responses. @source RFC 3261 §17.1 */
export interface ClientTransactions {
  /** Sends a request, whose first Via has a branch of its own; sent again over UDP until there is an answer. */
  start(hop: Hop, request: SipRequest, handlers: ResponseHandlers): void;
  /** Gives a response to whom it is for; false when nobody waits for it. */
  handleResponse(response: SipResponse): boolean;
  stop(): void;
}

/** @source RFC 3261 §16.6, timer C: proxies wait for more than 3 minutes */
const MAX_RINGING_MS = 200_000;

interface PendingTransaction {
  hop: Hop;
  request: SipRequest;
  bytes: Buffer;
  handlers: ResponseHandlers;
  state: "trying" | "proceeding" | "completed";
  again: Timer | null;
  end: Timer | null;
  /** The ACK of a final response that was no success, for when it is repeated. */
  ack: Buffer | null;
}

/** Where `send` rejects with words. */
export function createClientTransactions(needs: {
  clock: Clock;
  send(hop: Hop, bytes: Buffer): Promise<void>;
}): ClientTransactions {
  const { clock, send } = needs;
  const pending = new Map<string, PendingTransaction>();

  const remove = (key: string, entry: PendingTransaction): void => {
    entry.again?.cancel();
    entry.end?.cancel();
    if (pending.get(key) === entry) pending.delete(key);
  };
  const fail = (key: string, entry: PendingTransaction, words: string): void => {
    const was = entry.state;
    remove(key, entry);
    if (was !== "completed") entry.handlers.onFailed(words);
  };
  const scheduleRetransmission = (key: string, entry: PendingTransaction, delayMs: number): void => {
    if (entry.hop.protocol !== "udp") return;
    const isInvite = entry.request.method === "INVITE";
    entry.again = clock.after(delayMs, () => {
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
    // A success of INVITE is repeated to whoever made the dialog.
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
      entry.end = clock.after(TRANSACTION_TIMEOUT_MS, () => fail(key, entry, "it does not answer"));
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
          // How long it rings is for whoever called to say; this only keeps nobody waiting for ever.
          entry.end?.cancel();
          entry.end = clock.after(MAX_RINGING_MS, () => fail(key, entry, "it does not answer"));
        }
        entry.handlers.onProvisional?.(response);
      }
      return true;
    },
    stop() {
      for (const [key, entry] of pending) remove(key, entry);
    },
  };
}

function transactionKey(message: SipRequest | SipResponse): string {
  return `${parseParameters((headerValues(message, "Via")[0] ?? "").replace(/^[^;]*/, "")).get("branch") ?? ""} ${cseqOf(message).method}`;
}

/** The ACK that belongs to the transaction. @source RFC 3261 §17.1.1.3 */
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
