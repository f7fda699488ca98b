import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { sleep } from "../../lib/clock.ts";
import { executePush, PUSH_ERROR, pushError } from "./execute-push.ts";
import { recordError, type SimulatorPhone } from "./phone.ts";
import { deviceInformation, streamingStatistics } from "./phone-documents.ts";
import { isPushAuthorized, parseBasicAuthorization } from "./push-authentication.ts";
import { nextResponseTimeMs, type SimulatorState } from "./simulator-state.ts";

/** @source IP Phone Services Application Development Notes: the POST limit */
const MAX_PUSH_BYTES = 40 * 1024;
/** What is read of a longer push before the connection is cut. */
const MAX_DRAINED_BYTES = 1024 * 1024;
/** own choice: a phone takes two connections at once and resets a third. */
const MAX_CONNECTIONS = 2;
const BACKLOG = 4096;

/** What a phone says to one request; a null body stands for "no answer at all". */
interface PhoneResponse {
  status: number;
  body: string;
  headers?: Record<string, string>;
}

/** The web server of all phones. */
export interface PhoneServer {
  port: number;
  stop(): Promise<void>;
}

/**
 * Opens one listener on all addresses and tells the phones apart by the address that was called. A connection to a
 * phone that is off line, unknown or has enough of them is reset.
 */
export function startPhoneServer(campus: SimulatorState): Promise<PhoneServer> {
  const phones = new Map(campus.phones.map((phone) => [phone.address, phone]));
  const server = createServer({ connectionsCheckingInterval: 5000 }, (request, response) => {
    const phone = phones.get(request.socket.localAddress ?? "");
    if (phone) void serveRequest(campus, phone, request, response);
  });
  server.on("connection", (socket: Socket) => admit(phones.get(socket.localAddress ?? ""), socket));
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen({ host: "0.0.0.0", port: 0, backlog: BACKLOG }, () => {
      const stop = (): Promise<void> =>
        new Promise((stopped) => {
          server.close(() => stopped());
          server.closeAllConnections();
        });
      resolve({ port: (server.address() as AddressInfo).port, stop });
    });
  });
}

function admit(phone: SimulatorPhone | undefined, socket: Socket): void {
  if (!phone?.online || phone.connections >= MAX_CONNECTIONS) {
    socket.resetAndDestroy();
    return;
  }
  phone.connections++;
  socket.once("close", () => phone.connections--);
}

/** Answers one request and closes the connection, as phones do; one that went off line meanwhile resets it. */
async function serveRequest(
  campus: SimulatorState,
  phone: SimulatorPhone,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const startedAt = campus.at();
  const answerTimeMs = nextResponseTimeMs(campus, phone);
  const rest = (): Promise<void> => waitUntil(campus, startedAt + answerTimeMs);
  try {
    const answer = await handleRequest(campus, phone, request, rest);
    if (!phone.online) return void request.socket.resetAndDestroy();
    const headers = { "Content-Type": "text/xml; charset=utf-8", Connection: "close", ...answer.headers };
    response.writeHead(answer.status, { ...headers, "Content-Length": Buffer.byteLength(answer.body) });
    response.end(answer.body);
  } catch (error) {
    recordError(phone, `web server: ${error instanceof Error ? error.message : String(error)}`);
    request.socket.destroy();
  }
}

async function waitUntil(campus: SimulatorState, at: number): Promise<void> {
  const waitMs = at - campus.at();
  if (waitMs > 0) await sleep(campus.clock, waitMs, campus.signal);
}

/** Picks by path, case-sensitive; `rest` waits out the remainder of the phone's answer time. */
async function handleRequest(
  campus: SimulatorState,
  phone: SimulatorPhone,
  request: IncomingMessage,
  rest: () => Promise<void>,
): Promise<PhoneResponse> {
  const path = (request.url ?? "").split("?", 1)[0];
  if (path === "/CGI/Execute") return handlePush(campus, phone, request, rest);
  await rest();
  if (request.method !== "GET") return { status: 405, body: "" };
  if (path === "/DeviceInformationX") return { status: 200, body: deviceInformation(phone) };
  if (path === "/StreamingStatisticsX" && phone.model.sendsResponse) {
    return { status: 200, body: streamingStatistics(campus, phone) };
  }
  return { status: 404, body: "" };
}

/** One push: credentials, their check at the authentication URL, and then what was asked for. */
async function handlePush(
  campus: SimulatorState,
  phone: SimulatorPhone,
  request: IncomingMessage,
  rest: () => Promise<void>,
): Promise<PhoneResponse> {
  if (request.method !== "POST") return { status: 405, body: "" };
  phone.pushes++;
  const credentials = parseBasicAuthorization(request.headers.authorization);
  if (!credentials) return { status: 401, body: "", headers: { "WWW-Authenticate": 'Basic realm="phone"' } };
  const body = await readBody(request);
  if (body === null) {
    recordError(phone, `push: more than ${MAX_PUSH_BYTES} bytes`);
    return { status: 413, body: "" };
  }
  const allowed = await isPushAuthorized(campus, phone, credentials);
  await rest();
  if (!phone.online) return { status: 503, body: "" };
  if (!allowed) return { status: 200, body: pushError(phone, PUSH_ERROR.authentication, "not authorized") };
  return { status: 200, body: await executePush(campus, phone, xmlField(request, body)) };
}

/** The form field XML (the name is case-sensitive), null when the body is no form or has no such field. */
function xmlField(request: IncomingMessage, body: string): string | null {
  const type = (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  return type === "application/x-www-form-urlencoded" ? new URLSearchParams(body).get("XML") : null;
}

/** The whole body as text, or null when it is longer than a phone takes; reading goes on so that the answer arrives. */
function readBody(request: IncomingMessage): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    request.on("data", (part: Buffer) => {
      length += part.length;
      if (length <= MAX_PUSH_BYTES) parts.push(part);
      if (length > MAX_DRAINED_BYTES) request.destroy();
    });
    request.on("end", () => resolve(length > MAX_PUSH_BYTES ? null : Buffer.concat(parts).toString("utf8")));
    request.on("error", reject);
  });
}
