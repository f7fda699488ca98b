import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CallerError, invalidValue, notFound } from "../../lib/errors.ts";
import type { ApiDevice } from "./api-device.ts";
import { readExpectedAudio } from "./expected-audio.ts";
import { requireHttpUrl } from "./options.ts";
import { fetchAndShowPage } from "./page-display.ts";
import { clearRecords, isReceiving, type SimulatorPhone } from "./phone.ts";
import { createSimulatorReport } from "./report.ts";
import { type SimulatorState, stopReceiving } from "./simulator-state.ts";

/** Room for a programme of half an hour. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** The campus's remote control, on the loopback interface only. */
export interface ControlServer {
  port: number;
  stop(): Promise<void>;
}

/** What the control server works on; the devices are known only after it has a port. */
export interface ControlServerDeps {
  state: () => SimulatorState;
  devices: () => ApiDevice[];
}

/** Starts the control server; README.md lists what it answers. */
export function startControlServer(needs: ControlServerDeps): Promise<ControlServer> {
  const server = createServer((request, response) => void serveRequest(needs, request, response));
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const stop = (): Promise<void> =>
        new Promise((stopped) => {
          server.close(() => stopped());
          server.closeAllConnections();
        });
      resolve({ port: (server.address() as AddressInfo).port, stop });
    });
  });
}

async function serveRequest(
  needs: ControlServerDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [status, answer] = await handleRequest(needs, request).then(
    (result): [number, unknown] => (result === undefined ? [204, undefined] : [200, result]),
    (error: unknown): [number, unknown] => {
      const message = error instanceof Error ? error.message : String(error);
      return [error instanceof CallerError ? (error.type === "not-found" ? 404 : 400) : 500, { message }];
    },
  );
  const body = answer === undefined ? "" : JSON.stringify(answer);
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}

async function handleRequest(needs: ControlServerDeps, request: IncomingMessage): Promise<unknown> {
  const path = new URL(request.url ?? "/", "http://control").pathname;
  const order = `${request.method} ${path}`;
  const campus = needs.state();
  if (order === "GET /report") return createSimulatorReport(campus);
  if (order === "GET /summary") return createSimulatorReport(campus).summary;
  if (order === "GET /devices") return needs.devices();
  if (order === "POST /reset") return reset(campus);
  if (order === "POST /programme") {
    campus.expectedAudio = readExpectedAudio(await readBody(request));
    return { packets: campus.expectedAudio.frames };
  }
  if (order === "POST /auth-url") {
    campus.authUrl = requireHttpUrl("url", (await readJson(request)).url);
    return undefined;
  }
  if (order === "POST /agents") return campus.agents.start(await readJson(request));
  const [, service] = /^POST \/services\/(\w+)$/.exec(order) ?? [];
  if (service !== undefined) {
    campus.services?.configure(service, await readJson(request));
    return undefined;
  }
  const [, id, action] = /^POST \/phones\/([^/]+)\/(call|online)$/.exec(order) ?? [];
  const phone = id === undefined ? undefined : campus.phones.find((candidate) => candidate.name === id);
  if (!phone) throw notFound();
  const body = await readJson(request);
  return action === "call" ? setCall(campus, phone, body.state) : setOnline(campus, phone, body.online ?? true);
}

/** Forgets records and programme, so that the next broadcast starts clean; what is being received goes on. */
function reset(campus: SimulatorState): undefined {
  const listenings = [...campus.zones.map((zone) => zone.listening)];
  for (const phone of campus.phones) {
    clearRecords(phone);
    if (isReceiving(phone) && phone.session) listenings.push(phone.session);
  }
  campus.sources.clear(new Set(listenings.map((listening) => listening.source)));
  campus.expectedAudio = null;
}

/** A call that begins (or is resumed) ends what the phone receives; pages that waited are shown when it is over. */
function setCall(campus: SimulatorState, phone: SimulatorPhone, state: unknown): undefined {
  if (state !== "active" && state !== "idle") throw invalidValue("state", "Use active or idle.");
  phone.callActive = state === "active";
  if (phone.callActive) stopReceiving(campus, phone);
  else for (const url of phone.deferredUrls.splice(0)) void fetchAndShowPage(campus, phone, url);
}

/** A phone that goes off line hears nothing more and resets every connection. */
function setOnline(campus: SimulatorState, phone: SimulatorPhone, online: unknown): undefined {
  if (typeof online !== "boolean") throw invalidValue("online", "Use true or false.");
  phone.online = online;
  if (!online) stopReceiving(campus, phone);
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const text = (await readBody(request)).toString("utf8");
  if (text === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return { ...value };
  } catch {
    throw invalidValue("body", "It must be a JSON object.");
  }
  throw invalidValue("body", "It must be a JSON object.");
}

function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    request.on("data", (part: Buffer) => {
      length += part.length;
      if (length <= MAX_BODY_BYTES) parts.push(part);
      else reject(invalidValue("body", `It is longer than ${MAX_BODY_BYTES} bytes.`));
    });
    request.on("end", () => resolve(Buffer.concat(parts)));
    request.on("error", reject);
  });
}
