import http from "node:http";
import type { Socket } from "node:net";
import { newId } from "../base/ids.ts";

/** Longest time for the head of a request, ms. */
const HEAD_MS = 20_000;
/** Longest time without a byte in either direction, ms. */
const STILL_MS = 120_000;

/**
 * Makes the server for `listener`, not listening yet. There is no limit on the time of a whole request, since uploads
 * are limited by their progress. What is no HTTP, and a head over 16 KiB, is answered in the API's error form.
 */
export function createHttpServer(listener: http.RequestListener): http.Server {
  const server = http.createServer({ requestTimeout: 0, headersTimeout: HEAD_MS, maxHeaderSize: 16_384 }, listener);
  server.timeout = STILL_MS;
  server.on("clientError", answerBroken);
  return server;
}

function answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const long = error.code === "HPE_HEADER_OVERFLOW";
  const late = error.code === "ERR_HTTP_REQUEST_TIMEOUT";
  const [status, words] = long
    ? [431, "Request Header Fields Too Large"]
    : late
      ? [408, "Request Timeout"]
      : [400, "Bad Request"];
  const type = long ? "too-large" : "invalid-value";
  const message = long ? "The address and headers are too long." : "The request can't be read.";
  const body = JSON.stringify({ status, type, message, errors: [], requestId: newId() });
  const head = `HTTP/1.1 ${status} ${words}\r\nContent-Type: application/json; charset=utf-8\r\nConnection: close`;
  socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}
