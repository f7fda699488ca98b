import { connect, type Socket } from "node:net";
import type { Clock, PluginContext } from "#plugin-api";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";
import { type PhoneHttpResponse, parseHttpResponse } from "./http-response.ts";
import type { PhoneAddress } from "./phone.ts";
import { sentence } from "./sentences.ts";

/** The phone's response, or an error. */
export type PhoneExchange = { answer: PhoneHttpResponse; error?: never } | { answer?: never; error: PhoneError };

/** `retryable`: another attempt may succeed. `noNetwork`: nothing could leave the appliance. */
export interface PhoneError {
  message: string;
  retryable: boolean;
  noNetwork?: boolean;
}

/** One request to a phone's web server. */
export interface PhoneRequest {
  method: "GET" | "POST";
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** @source docs/decisions/0032-phone-push.md, Push */
const CONNECT_TIMEOUT_MS = 3_000;
const REQUEST_TIMEOUT_MS = 5_000;
const MAX_RESPONSE_BYTES = 64 * 1_024;
const STOPPING = sentence("plugin-stopping");

const NETWORK_ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: sentence("connection-refused"),
  ECONNRESET: sentence("connection-closed"),
  EPIPE: sentence("connection-closed"),
  EHOSTUNREACH: sentence("host-unreachable"),
  EHOSTDOWN: sentence("host-unreachable"),
  ENETUNREACH: sentence("network-unreachable"),
  ENETDOWN: sentence("network-unreachable"),
  ETIMEDOUT: sentence("connection-timed-out"),
  EMFILE: sentence("too-many-files"),
  EADDRNOTAVAIL: sentence("no-free-port"),
};

/** Sends a request to a phone; resolves within 5 s, never rejects. */
export type RequestPhone = (phone: PhoneAddress, request: PhoneRequest) => Promise<PhoneExchange>;

/**
 * Creates the client of all phones. Each request has its own connection, which phones close anyway; redirects are never
 * followed. Users enter the addresses, so each is checked against the address policy. Uses plain sockets: with thousands of phones an HTTP client needs twice the CPU time. When `signal` aborts,
 * requests in progress fail.
 */
export function createPhoneClient(
  clock: Clock,
  signal: AbortSignal,
  limit: ConcurrencyLimit,
  isTargetAllowed: PluginContext["isTargetAllowed"],
): RequestPhone {
  const open = new Set<(error: PhoneError) => void>();
  signal.addEventListener("abort", () => {
    for (const end of [...open]) end({ message: STOPPING, retryable: true });
  });
  return (phone, request) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve({ error: { message: STOPPING, retryable: true } });
      if (!isTargetAllowed(phone.host)) {
        const message = sentence("address-not-allowed", { host: phone.host });
        return resolve({ error: { message, retryable: false } });
      }
      const startedAt = clock.monotonicMs();
      const finish = (result: PhoneExchange): void => {
        if (result.answer) limit.recordResponse(clock.monotonicMs() - startedAt);
        timer.cancel();
        open.delete(fail);
        socket.destroy();
        resolve(result);
      };
      const fail = (error: PhoneError): void => finish({ error });
      open.add(fail);
      const socket = connect({ host: phone.host, port: phone.port, noDelay: true });
      let timer = clock.after(CONNECT_TIMEOUT_MS, () => {
        if (socket.connecting) return fail(timeoutError("no-connection", CONNECT_TIMEOUT_MS));
        timer = clock.after(REQUEST_TIMEOUT_MS - CONNECT_TIMEOUT_MS, () => {
          limit.recordTimeout();
          fail(timeoutError("no-response", REQUEST_TIMEOUT_MS));
        });
      });
      socket.on("connect", () => socket.write(requestText(phone, request)));
      readResponse(socket, finish);
    });
}

/** Passes the response or the connection error to `finish`, possibly more than once. */
function readResponse(socket: Socket, finish: (result: PhoneExchange) => void): void {
  const fail = (message: string, retryable: boolean): void => finish({ error: { message, retryable } });
  let bytes: Buffer = Buffer.alloc(0);
  const read = (ended: boolean): void => {
    const reading = parseHttpResponse(bytes, ended);
    if (reading === "broken") fail(sentence("invalid-http"), false);
    else if (reading !== "incomplete") finish({ answer: reading });
  };
  socket.on("data", (part: Buffer) => {
    bytes = bytes.length === 0 ? part : Buffer.concat([bytes, part]);
    if (bytes.length > MAX_RESPONSE_BYTES)
      fail(sentence("response-too-long", { bytes: String(MAX_RESPONSE_BYTES) }), false);
    else read(false);
  });
  socket.on("end", () => {
    if (bytes.length === 0) fail(sentence("closed-without-response"), true);
    else read(true);
  });
  socket.on("error", (error: Error & { code?: string }) => {
    const message = NETWORK_ERRORS[error.code ?? ""] ?? error.message;
    // A lack of free ports is no lack of a network.
    const noNetwork = error.code === "ENETUNREACH" || error.code === "ENETDOWN";
    finish({ error: { message, retryable: true, ...(noNetwork && { noNetwork }) } });
  });
}

function timeoutError(code: "no-response" | "no-connection", afterMs: number): PhoneError {
  return { message: sentence(code, { seconds: afterMs / 1_000 }), retryable: true };
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
