import type { Clock, Timer } from "#plugin-api";
import type { Hop } from "./hop.ts";
import { all, first, type SipRequest, type SipResponse, sequenceOf, writeMessage } from "./message.ts";
import { GIVE_UP_MS, T1_MS, T2_MS, T4_MS } from "./timers.ts";
import { readParams } from "./uri.ts";

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
  take(response: SipResponse): boolean;
  stop(): void;
}

/** @source RFC 3261 §16.6, timer C: proxies wait for more than 3 minutes */
const LONGEST_RINGING_MS = 200_000;

interface Pending {
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
  const pending = new Map<string, Pending>();

  const forget = (key: string, entry: Pending): void => {
    entry.again?.cancel();
    entry.end?.cancel();
    if (pending.get(key) === entry) pending.delete(key);
  };
  const fail = (key: string, entry: Pending, words: string): void => {
    const was = entry.state;
    forget(key, entry);
    if (was !== "completed") entry.handlers.onFailed(words);
  };
  const sendAgain = (key: string, entry: Pending, delayMs: number): void => {
    if (entry.hop.protocol !== "udp") return;
    const isInvite = entry.request.method === "INVITE";
    entry.again = clock.after(delayMs, () => {
      send(entry.hop, entry.bytes).catch(() => {});
      const next = isInvite ? delayMs * 2 : Math.min(entry.state === "proceeding" ? T2_MS : delayMs * 2, T2_MS);
      sendAgain(key, entry, next);
    });
  };
  const complete = (key: string, entry: Pending, response: SipResponse): void => {
    const wasCompleted = entry.state === "completed";
    const isInvite = entry.request.method === "INVITE";
    entry.state = "completed";
    entry.again?.cancel();
    if (isInvite && response.status >= 300) {
      entry.ack ??= writeMessage(ackOf(entry.request, response));
      send(entry.hop, entry.ack).catch(() => {});
    }
    if (wasCompleted) return;
    entry.end?.cancel();
    // A success of INVITE is repeated to whoever made the dialog.
    if (isInvite && response.status < 300) forget(key, entry);
    else
      entry.end = clock.after(entry.hop.protocol !== "udp" ? 0 : isInvite ? GIVE_UP_MS : T4_MS, () =>
        forget(key, entry),
      );
    entry.handlers.onFinal(response);
  };

  return {
    start(hop, request, handlers) {
      const key = keyOf(request);
      const bytes = writeMessage(request);
      const entry: Pending = {
        ...{ hop, request, bytes, handlers },
        state: "trying",
        again: null,
        end: null,
        ack: null,
      };
      pending.set(key, entry);
      sendAgain(key, entry, T1_MS);
      entry.end = clock.after(GIVE_UP_MS, () => fail(key, entry, "it does not answer"));
      send(hop, bytes).catch((error: Error) => fail(key, entry, error.message));
    },
    take(response) {
      const key = keyOf(response);
      const entry = pending.get(key);
      if (!entry) return false;
      if (response.status >= 200) complete(key, entry, response);
      else if (entry.state !== "completed") {
        entry.state = "proceeding";
        if (entry.request.method === "INVITE") {
          entry.again?.cancel();
          // How long it rings is for whoever called to say; this only keeps nobody waiting for ever.
          entry.end?.cancel();
          entry.end = clock.after(LONGEST_RINGING_MS, () => fail(key, entry, "it does not answer"));
        }
        entry.handlers.onProvisional?.(response);
      }
      return true;
    },
    stop() {
      for (const [key, entry] of pending) forget(key, entry);
    },
  };
}

function keyOf(message: SipRequest | SipResponse): string {
  return `${readParams((all(message, "Via")[0] ?? "").replace(/^[^;]*/, "")).get("branch") ?? ""} ${sequenceOf(message).method}`;
}

/** The ACK that belongs to the transaction. @source RFC 3261 §17.1.1.3 */
function ackOf(request: SipRequest, response: SipResponse): SipRequest {
  const keep = ["From", "Call-ID", "Route", "Max-Forwards"];
  return {
    kind: "request",
    method: "ACK",
    uri: request.uri,
    headers: [
      ["Via", first(request, "Via") ?? ""],
      ...request.headers.filter(([name]) => keep.includes(name)),
      ["To", first(response, "To") ?? ""],
      ["CSeq", `${sequenceOf(request).number} ACK`],
    ],
    body: "",
  };
}
