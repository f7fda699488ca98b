import { Agent, type IncomingMessage, request } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";

/** An HTTP request of a phone, sent from its own address. */
export interface OutgoingRequest {
  url: string;
  localAddress: string;
  headers: Record<string, string>;
  timeoutMs: number;
  maxBytes: number;
  /** Form data; makes the request a POST. */
  form?: string;
}

/** The response; redirects are not followed. */
export interface OutgoingResponse {
  status: number;
  contentType: string;
  body: Buffer;
}

/** HTTP client of the phones; rejects with UpstreamError. */
export interface PhoneHttpClient {
  send(errand: OutgoingRequest): Promise<OutgoingResponse>;
  /** Aborts requests in progress. */
  stop(): void;
}

/** Like phones, uses one connection per request; their number is unlimited. */
export function createPhoneHttpClient(clock: Clock): PhoneHttpClient {
  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  return { send: (errand) => sendRequest(errand, clock, agent), stop: () => agent.destroy() };
}

function sendRequest(errand: OutgoingRequest, clock: Clock, agent: Agent): Promise<OutgoingResponse> {
  return new Promise((resolve, reject) => {
    const { localAddress, headers } = errand;
    const method = errand.form === undefined ? "GET" : "POST";
    const outgoing = request(errand.url, { agent, localAddress, headers, method }, (response) => {
      readResponse(response, errand.maxBytes).then(finish, fail);
    });
    const timer = clock.after(errand.timeoutMs, () => fail(new UpstreamError("upstream", "timed out")), {
      background: true,
    });
    function finish(fetched: OutgoingResponse): void {
      timer.cancel();
      resolve(fetched);
    }
    function fail(error: Error): void {
      timer.cancel();
      outgoing.destroy();
      reject(error instanceof UpstreamError ? error : new UpstreamError("upstream", error.message, {}, error));
    }
    outgoing.on("error", fail);
    outgoing.end(errand.form);
  });
}

function readResponse(response: IncomingMessage, maxBytes: number): Promise<OutgoingResponse> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    response.on("data", (part: Buffer) => {
      parts.push(part);
      length += part.length;
      if (length > maxBytes) reject(new UpstreamError("upstream", `more than ${maxBytes} bytes`));
    });
    response.on("error", reject);
    response.on("end", () => {
      const contentType = response.headers["content-type"] ?? "";
      resolve({ status: response.statusCode ?? 0, contentType, body: Buffer.concat(parts, length) });
    });
  });
}
