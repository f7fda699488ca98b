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
/** Bytes read of a longer push before the connection is closed. */
const MAX_DRAINED_BYTES = 1024 * 1024;
/** A phone accepts two connections at a time and resets further ones. */
const MAX_CONNECTIONS = 2;
const BACKLOG = 4096;

/** Response to a request; a null body means no response at all. */
interface PhoneResponse {
  status: number;
  body: string;
  headers?: Record<string, string>;
}

/** Web server of all phones. */
export interface PhoneServer {
  port: number;
  stop(): Promise<void>;
}

/**
 * Opens one listener for all phones, told apart by the local address of the connection. Connections to a phone that is
 * offline, unknown or at its connection limit are reset.
 */
export function startPhoneServer(simulator: SimulatorState): Promise<PhoneServer> {
  const phones = new Map(simulator.phones.map((phone) => [phone.address, phone]));
  const server = createServer({ connectionsCheckingInterval: 5000 }, (request, response) => {
    const phone = phones.get(request.socket.localAddress ?? "");
    if (phone) void serveRequest(simulator, phone, request, response);
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
  if (!phone?.online || phone.setup.webAccess === "off" || phone.connections >= MAX_CONNECTIONS) {
    socket.resetAndDestroy();
    return;
  }
  phone.connections++;
  socket.once("close", () => phone.connections--);
}

/** Responds to one request and closes the connection, as phones do; resets it if the phone has gone offline in between. */
async function serveRequest(
  simulator: SimulatorState,
  phone: SimulatorPhone,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const startedAt = simulator.at();
  const answerTimeMs = nextResponseTimeMs(simulator, phone);
  const rest = (): Promise<void> => waitUntil(simulator, startedAt + answerTimeMs);
  try {
    const answer = await handleRequest(simulator, phone, request, rest);
    if (!phone.online) return void request.socket.resetAndDestroy();
    const headers = { "Content-Type": "text/xml; charset=utf-8", Connection: "close", ...answer.headers };
    response.writeHead(answer.status, { ...headers, "Content-Length": Buffer.byteLength(answer.body) });
    response.end(answer.body);
  } catch (error) {
    recordError(phone, `web server: ${error instanceof Error ? error.message : String(error)}`);
    request.socket.destroy();
  }
}

async function waitUntil(simulator: SimulatorState, at: number): Promise<void> {
  const waitMs = at - simulator.at();
  if (waitMs > 0) await sleep(simulator.clock, waitMs, simulator.signal);
}

/** Routes by path, case-sensitive; `rest` waits for the remaining response time. */
async function handleRequest(
  simulator: SimulatorState,
  phone: SimulatorPhone,
  request: IncomingMessage,
  rest: () => Promise<void>,
): Promise<PhoneResponse> {
  const path = (request.url ?? "").split("?", 1)[0];
  if (path === "/CGI/Execute") return handlePush(simulator, phone, request, rest);
  await rest();
  if (request.method !== "GET") return { status: 405, body: "" };
  if (path === "/DeviceInformationX") return { status: 200, body: deviceInformation(phone) };
  if (path === "/StreamingStatisticsX" && phone.model.sendsResponse) {
    return { status: 200, body: streamingStatistics(simulator, phone) };
  }
  return { status: 404, body: "" };
}

/** A push: checks the credentials at the authentication URL, then executes it. */
async function handlePush(
  simulator: SimulatorState,
  phone: SimulatorPhone,
  request: IncomingMessage,
  rest: () => Promise<void>,
): Promise<PhoneResponse> {
  if (request.method !== "POST") return { status: 405, body: "" };
  if (phone.setup.webAccess === "read-only") return { status: 403, body: "" };
  phone.pushes++;
  const credentials = parseBasicAuthorization(request.headers.authorization);
  if (!credentials) return { status: 401, body: "", headers: { "WWW-Authenticate": 'Basic realm="phone"' } };
  const body = await readBody(request);
  if (body === null) {
    recordError(phone, `push: more than ${MAX_PUSH_BYTES} bytes`);
    return { status: 413, body: "" };
  }
  const allowed = await isPushAuthorized(simulator, phone, credentials);
  await rest();
  if (!phone.online) return { status: 503, body: "" };
  if (!allowed) return { status: 200, body: pushError(phone, PUSH_ERROR.authentication, "not authorized") };
  return { status: 200, body: await executePush(simulator, phone, xmlField(request, body)) };
}

/** The form field XML (case-sensitive); null if the body is no form or has no such field. */
function xmlField(request: IncomingMessage, body: string): string | null {
  const type = (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  return type === "application/x-www-form-urlencoded" ? new URLSearchParams(body).get("XML") : null;
}

/** The complete body as text, or null if it exceeds the limit of a phone; it is still drained so that the response arrives. */
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
