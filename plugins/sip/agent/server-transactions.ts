import type { Clock, Timer } from "#plugin-api";
import { all, first, type Headers, type SipRequest, type SipResponse, sequenceOf, writeMessage } from "./message.ts";
import { GIVE_UP_MS, T1_MS, T2_MS } from "./timers.ts";
import type { Arrival } from "./transports.ts";
import { readParams } from "./uri.ts";

/** Answers a request; the last status of 200 or more is what counts. */
export type Respond = (status: number, reason: string, headers?: Headers, body?: string) => void;

/** Requests of others and what they were answered. @source RFC 3261 §17.2 */
export interface ServerTransactions {
  /** Takes a request; `handle` is called once for each, repetitions get the answer again. */
  take(arrival: Arrival & { message: SipRequest }, handle: (respond: Respond) => void): void;
  stop(): void;
}

interface Answered {
  bytes: Buffer | null;
  again: Timer | null;
  end: Timer | null;
}

/** Above this nothing new is taken: somebody sends only to fill our memory. own choice */
const MOST_OPEN = 20_000;

/**
 * Makes it; `tag` gives what answers add to the To of a request that has none, the same for the same name. Refusals and
 * answers to OPTIONS are not kept but given anew: whoever sends under many names fills no memory with them.
 * @source RFC 3261 §8.2.7
 */
export function createServerTransactions({
  clock,
  tag,
}: {
  clock: Clock;
  tag(name: string): string;
}): ServerTransactions {
  const open = new Map<string, Answered>();
  const forget = (key: string): void => {
    const entry = open.get(key);
    entry?.again?.cancel();
    entry?.end?.cancel();
    open.delete(key);
  };

  /** A final answer to INVITE is repeated until it is acknowledged. */
  const repeat = (entry: Answered, bytes: Buffer, reply: (bytes: Buffer) => void, delayMs: number): void => {
    entry.again = clock.after(delayMs, () => {
      reply(bytes);
      repeat(entry, bytes, reply, Math.min(delayMs * 2, T2_MS));
    });
  };

  return {
    take({ message, from, reply }, handle) {
      const key = keyOf(message, from.host);
      const known = open.get(key);
      if (message.method === "ACK") {
        // What acknowledges a success has a branch of its own.
        for (const each of [key, sharedKey(key, message)]) open.get(each)?.again?.cancel();
        return;
      }
      if (known) {
        if (known.bytes) reply(known.bytes);
        return;
      }
      if (open.size >= MOST_OPEN) return;
      const entry: Answered = { bytes: null, again: null, end: null };
      const isInvite = message.method === "INVITE";
      const keys = isInvite ? [key, sharedKey(key, message)] : [key];
      for (const each of keys) open.set(each, entry);
      entry.end = clock.after(GIVE_UP_MS, () => keys.forEach(forget));
      const toTag = tag(key);
      handle((status, reason, headers = [], body = "") => {
        // Whoever asked has given up, or the ports are closed.
        if (open.get(key) !== entry) return;
        const bytes = writeMessage(responseTo(message, from, { status, reason, headers, body, toTag }));
        reply(bytes);
        if (status >= 400 || message.method === "OPTIONS") return keys.forEach(forget);
        entry.bytes = bytes;
        if (isInvite && status >= 200) repeat(entry, bytes, reply, T1_MS);
      });
    },
    stop() {
      for (const key of [...open.keys()]) forget(key);
    },
  };
}

function keyOf(request: SipRequest, host: string): string {
  const via = all(request, "Via")[0] ?? "";
  const branch = readParams(via.replace(/^[^;]*/, "")).get("branch") || `${first(request, "Call-ID")}`;
  const method = request.method === "ACK" ? "INVITE" : request.method;
  return `${branch.replace(/\s/g, "")} ${host} ${sequenceOf(request).number} ${method}`;
}

/** What an INVITE and the ACK of its success have in common, in the place of the branch. */
function sharedKey(key: string, request: SipRequest): string {
  return key.replace(/^\S+/, `call/${(first(request, "Call-ID") ?? "").replace(/\s/g, "")}`);
}

function responseTo(
  request: SipRequest,
  from: { host: string; port: number },
  given: { status: number; reason: string; headers: Headers; body: string; toTag: string },
): SipResponse {
  const to = first(request, "To") ?? "";
  const hasTag = /;\s*tag=/i.test(to.replace(/^.*>/, ""));
  const vias = all(request, "Via").map((via, at) => (at === 0 ? seenFrom(via, from) : via));
  return {
    kind: "response",
    status: given.status,
    reason: given.reason,
    headers: [
      ...vias.map((via) => ["Via", via] as const),
      ["From", first(request, "From") ?? ""],
      ["To", hasTag || given.status === 100 ? to : `${to};tag=${given.toTag}`],
      ["Call-ID", first(request, "Call-ID") ?? ""],
      ["CSeq", first(request, "CSeq") ?? ""],
      ...given.headers,
    ],
    body: given.body,
  };
}

/** @source RFC 3581 §4 */
function seenFrom(via: string, { host, port }: { host: string; port: number }): string {
  const marked = via.replace(/;\s*rport(?=\s*(;|$))/i, `;rport=${port}`);
  return /;\s*received=/i.test(marked) ? marked : `${marked};received=${host}`;
}
