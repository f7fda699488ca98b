import { connect, type Socket } from "node:net";
import type { Clock } from "#plugin-api";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";
import { type PhoneHttpResponse, parseHttpResponse } from "./http-response.ts";
import type { PhoneAddress } from "./phone.ts";

/** What became of one request: the phone's answer, or why there is none. */
export type PhoneExchange = { answer: PhoneHttpResponse; fault?: never } | { answer?: never; fault: PhoneError };

/** A fault in words; `retryable` when asking again may help. */
export interface PhoneError {
  message: string;
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
const CONNECT_TIMEOUT_MS = 3_000;
const REQUEST_TIMEOUT_MS = 5_000;
const MAX_RESPONSE_BYTES = 64 * 1_024;
const STOPPING = "the plugin is being stopped";

const NETWORK_ERRORS: Readonly<Record<string, string>> = {
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
export type RequestPhone = (phone: PhoneAddress, request: PhoneRequest) => Promise<PhoneExchange>;

/**
 * Makes the client of all phones. Each request has a connection of its own, since phones close it anyway, and redirects
 * are never followed. Plain sockets: with thousands of phones an HTTP client costs twice the CPU time. When `signal`
 * aborts, what is under way ends with a fault.
 */
export function createPhoneClient(clock: Clock, signal: AbortSignal, pace: ConcurrencyLimit): RequestPhone {
  const open = new Set<(fault: PhoneError) => void>();
  signal.addEventListener("abort", () => {
    for (const end of [...open]) end({ message: STOPPING, retryable: true });
  });
  return (phone, request) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve({ fault: { message: STOPPING, retryable: true } });
      const startedAt = clock.monotonicMs();
      const finish = (result: PhoneExchange): void => {
        if (result.answer) pace.recordResponse(clock.monotonicMs() - startedAt);
        timer.cancel();
        open.delete(fail);
        socket.destroy();
        resolve(result);
      };
      const fail = (fault: PhoneError): void => finish({ fault });
      open.add(fail);
      const socket = connect({ host: phone.host, port: phone.port, noDelay: true });
      let timer = clock.after(CONNECT_TIMEOUT_MS, () => {
        if (socket.connecting) return fail(timeoutError("connection", CONNECT_TIMEOUT_MS));
        timer = clock.after(REQUEST_TIMEOUT_MS - CONNECT_TIMEOUT_MS, () => {
          pace.recordTimeout();
          fail(timeoutError("answer", REQUEST_TIMEOUT_MS));
        });
      });
      socket.on("connect", () => socket.write(requestText(phone, request)));
      readResponse(socket, finish);
    });
}

/** Hands the answer, or the fault of the connection, to `finish`; more than once when more comes after it. */
function readResponse(socket: Socket, finish: (result: PhoneExchange) => void): void {
  const fail = (words: string, retryable: boolean): void => finish({ fault: { message: words, retryable } });
  let bytes: Buffer = Buffer.alloc(0);
  const read = (ended: boolean): void => {
    const reading = parseHttpResponse(bytes, ended);
    if (reading === "broken") fail("the phone's answer is no HTTP", false);
    else if (reading !== "incomplete") finish({ answer: reading });
  };
  socket.on("data", (part: Buffer) => {
    bytes = bytes.length === 0 ? part : Buffer.concat([bytes, part]);
    if (bytes.length > MAX_RESPONSE_BYTES) fail(`the phone's answer is longer than ${MAX_RESPONSE_BYTES} bytes`, false);
    else read(false);
  });
  socket.on("end", () => {
    if (bytes.length === 0) fail("the phone closed the connection without an answer", true);
    else read(true);
  });
  socket.on("error", (error: Error & { code?: string }) => {
    fail(NETWORK_ERRORS[error.code ?? ""] ?? error.message, true);
  });
}

function timeoutError(what: string, afterMs: number): PhoneError {
  return { message: `no ${what} within ${afterMs / 1_000} s`, retryable: true };
}

function requestText(phone: PhoneAddress, request: PhoneRequest): string {
  const host = phone.host.includes(":") ? `[${phone.host}]` : phone.host;
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = request.method === "POST" ? `Content-Length: ${Buffer.byteLength(request.body)}\r\n` : "";
  return (
    `${request.method} ${request.path} HTTP/1.1\r\nHost: ${host}:${phone.port}\r\nConnection: close\r\n` +
    `${headers.join("")}${length}\r\n${request.body}`
  );
}
