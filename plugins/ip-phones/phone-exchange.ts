import { connect, type Socket } from "node:net";
import type { Clock } from "#plugin-api";
import { type HttpAnswer, readHttpAnswer } from "./http-answer.ts";
import type { Pace } from "./pace.ts";
import type { Phone } from "./phone.ts";

/** What became of one request: the phone's answer, or why there is none. */
export type Exchange = { answer: HttpAnswer; fault?: never } | { answer?: never; fault: Fault };

/** A fault in words; `retryable` when asking again may help. */
export interface Fault {
  words: string;
  retryable: boolean;
}

/** One request to a phone's web server. */
export interface PhoneRequest {
  method: "GET" | "POST";
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** @source protocols.md 3, Pitfalls: connect 2 to 3 s, the whole push 5 s */
const CONNECT_MS = 3_000;
const WHOLE_MS = 5_000;
const MOST_BYTES = 64 * 1_024;
const STOPPING = "the plugin is being stopped";

const NETWORK_FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the phone cut the connection",
  EPIPE: "the phone cut the connection",
  EHOSTUNREACH: "host unreachable",
  EHOSTDOWN: "host unreachable",
  ENETUNREACH: "network unreachable",
  ENETDOWN: "network unreachable",
  ETIMEDOUT: "no answer from the network",
  EMFILE: "too many open files on the appliance",
  EADDRNOTAVAIL: "no free port on the appliance",
};

/** Asks a phone; resolves in at most 5 s, never rejects. */
export type AskPhone = (phone: Phone, request: PhoneRequest) => Promise<Exchange>;

/**
 * Makes the client of all phones. Each request has a connection of its own, since phones close it anyway, and redirects
 * are never followed. Plain sockets: with thousands of phones an HTTP client costs twice the CPU time. When `signal`
 * aborts, what is under way ends with a fault.
 */
export function createPhoneClient(clock: Clock, signal: AbortSignal, pace: Pace): AskPhone {
  const open = new Set<(fault: Fault) => void>();
  signal.addEventListener("abort", () => {
    for (const end of [...open]) end({ words: STOPPING, retryable: true });
  });
  return (phone, request) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve({ fault: { words: STOPPING, retryable: true } });
      const startedAt = clock.monotonicMs();
      const finish = (result: Exchange): void => {
        if (result.answer) pace.answered(clock.monotonicMs() - startedAt);
        timer.cancel();
        open.delete(fail);
        socket.destroy();
        resolve(result);
      };
      const fail = (fault: Fault): void => finish({ fault });
      open.add(fail);
      const socket = connect({ host: phone.host, port: phone.port, noDelay: true });
      let timer = clock.after(CONNECT_MS, () => {
        if (socket.connecting) return fail(late("connection", CONNECT_MS));
        timer = clock.after(WHOLE_MS - CONNECT_MS, () => {
          pace.late();
          fail(late("answer", WHOLE_MS));
        });
      });
      socket.on("connect", () => socket.write(requestText(phone, request)));
      collect(socket, finish);
    });
}

/** Hands the answer, or the fault of the connection, to `finish`; more than once when more comes after it. */
function collect(socket: Socket, finish: (result: Exchange) => void): void {
  const fail = (words: string, retryable: boolean): void => finish({ fault: { words, retryable } });
  let bytes: Buffer = Buffer.alloc(0);
  const read = (ended: boolean): void => {
    const reading = readHttpAnswer(bytes, ended);
    if (reading === "broken") fail("the phone's answer is no HTTP", false);
    else if (reading !== "incomplete") finish({ answer: reading });
  };
  socket.on("data", (part: Buffer) => {
    bytes = bytes.length === 0 ? part : Buffer.concat([bytes, part]);
    if (bytes.length > MOST_BYTES) fail(`the phone's answer is longer than ${MOST_BYTES} bytes`, false);
    else read(false);
  });
  socket.on("end", () => {
    if (bytes.length === 0) fail("the phone closed the connection without an answer", true);
    else read(true);
  });
  socket.on("error", (error: Error & { code?: string }) => {
    fail(NETWORK_FAULTS[error.code ?? ""] ?? error.message, true);
  });
}

function late(what: string, afterMs: number): Fault {
  return { words: `no ${what} within ${afterMs / 1_000} s`, retryable: true };
}

function requestText(phone: Phone, request: PhoneRequest): string {
  const host = phone.host.includes(":") ? `[${phone.host}]` : phone.host;
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = request.method === "POST" ? `Content-Length: ${Buffer.byteLength(request.body)}\r\n` : "";
  return (
    `${request.method} ${request.path} HTTP/1.1\r\nHost: ${host}:${phone.port}\r\nConnection: close\r\n` +
    `${headers.join("")}${length}\r\n${request.body}`
  );
}
