import type { Socket } from "node:net";
import { newId } from "../lib/ids.ts";

const NOSNIFF = "X-Content-Type-Options: nosniff";

/**
 * Responds to requests that Node could not parse (event `clientError`) in the API error format and closes the
 * connection.
 */
export function respondToMalformedRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, statusText, type, message] = describe(error.code);
  const body = JSON.stringify({ status, type, message, errors: [], requestId: newId() });
  const head = `HTTP/1.1 ${status} ${statusText}\r\nContent-Type: application/json; charset=utf-8\r\n${NOSNIFF}\r\nConnection: close`;
  socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

function describe(code: string | undefined): [status: number, statusText: string, type: string, message: string] {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [431, "Request Header Fields Too Large", "too-large", "The request target and headers are too long."];
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, "Request Timeout", "invalid-value", "The request timed out: it arrives too slowly."];
    default:
      return [400, "Bad Request", "invalid-value", "The request is malformed."];
  }
}
