import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CallerError, invalidValue, notFound } from "../../lib/errors.ts";
import type { ApiDevice } from "./api-device.ts";
import { readExpectedAudio } from "./expected-audio.ts";
import { parseLatency } from "./latency.ts";
import { requireHttpUrl } from "./options.ts";
import { fetchAndShowPage } from "./page-display.ts";
import { clearRecords, isReceiving, type SimulatorPhone } from "./phone.ts";
import { createSimulatorReport } from "./report.ts";
import { type SimulatorState, stopReceiving } from "./simulator-state.ts";

/** Half an hour of audio. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** Control server of the simulator, on the loopback interface only. */
export interface ControlServer {
  port: number;
  stop(): Promise<void>;
}

/** `devices` is complete only after the control server has its port. */
export interface ControlServerDeps {
  state: () => SimulatorState;
  devices: () => ApiDevice[];
}

/** README.md lists its endpoints. */
export function startControlServer(deps: ControlServerDeps): Promise<ControlServer> {
  const server = createServer((request, response) => void serveRequest(deps, request, response));
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
  deps: ControlServerDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [status, result] = await handleRequest(deps, request).then(
    (value): [number, unknown] => (value === undefined ? [204, undefined] : [200, value]),
    (error: unknown): [number, unknown] => {
      const message = error instanceof Error ? error.message : String(error);
      return [error instanceof CallerError ? (error.type === "not-found" ? 404 : 400) : 500, { message }];
    },
  );
  const body = result === undefined ? "" : JSON.stringify(result);
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}

async function handleRequest(deps: ControlServerDeps, request: IncomingMessage): Promise<unknown> {
  const path = new URL(request.url ?? "/", "http://control").pathname;
  const route = `${request.method} ${path}`;
  const simulator = deps.state();
  if (route === "GET /report") return createSimulatorReport(simulator);
  if (route === "GET /summary") return createSimulatorReport(simulator).summary;
  if (route === "GET /devices") return deps.devices();
  if (route === "POST /reset") return reset(simulator);
  if (route === "POST /programme") {
    simulator.expectedAudio = readExpectedAudio(await readBody(request));
    return { packets: simulator.expectedAudio.frames };
  }
  if (route === "POST /auth-url") {
    simulator.authUrl = requireHttpUrl("url", (await readJson(request)).url);
    return undefined;
  }
  if (route === "POST /agents") return simulator.agents.start(await readJson(request));
  const [, service] = /^POST \/services\/(\w+)$/.exec(route) ?? [];
  if (service !== undefined) {
    simulator.services?.configure(service, await readJson(request));
    return undefined;
  }
  const [, id, action] = /^POST \/phones\/([^/]+)\/(call|latency|online|setup)$/.exec(route) ?? [];
  const phone = id === undefined ? undefined : simulator.phones.find((candidate) => candidate.name === id);
  if (!phone) throw notFound();
  const body = await readJson(request);
  if (action === "call") return setCall(simulator, phone, body.state);
  if (action === "online") return setOnline(simulator, phone, body.online ?? true);
  if (action === "setup") return changeSetup(phone, body);
  phone.latency = body.latency === null ? null : parseLatency(String(body.latency));
  return undefined;
}

/** Clears records and expected audio for the next message; streams in progress continue. */
function reset(simulator: SimulatorState): undefined {
  const listenings = [...simulator.zones.map((zone) => zone.listening)];
  for (const phone of simulator.phones) {
    clearRecords(phone);
    if (isReceiving(phone) && phone.session) listenings.push(phone.session);
  }
  simulator.sources.clear(new Set(listenings.map((listening) => listening.source)));
  simulator.expectedAudio = null;
}

/** A call that starts or is resumed ends the stream a phone receives; deferred pages are shown after the call. */
function setCall(simulator: SimulatorState, phone: SimulatorPhone, state: unknown): undefined {
  if (state !== "active" && state !== "idle") throw invalidValue("state", "Must be active or idle.");
  phone.callActive = state === "active";
  if (phone.callActive) stopReceiving(simulator, phone);
  else for (const url of phone.deferredUrls.splice(0)) void fetchAndShowPage(simulator, phone, url);
}

/** What the call manager sets; members that are absent stay. */
function changeSetup(
  phone: SimulatorPhone,
  { webAccess, authenticationUrl, file }: Record<string, unknown>,
): undefined {
  const setup = { ...phone.setup };
  if (webAccess !== undefined) setup.webAccess = oneOf("webAccess", webAccess, ["full", "read-only", "off"]);
  if (file !== undefined) setup.file = oneOf("file", file, ["plain", "signed", "encrypted", "none"]);
  if (authenticationUrl !== undefined)
    setup.authenticationUrl = authenticationUrl === null ? null : String(authenticationUrl);
  phone.setup = setup;
}

function oneOf<T extends string>(name: string, value: unknown, values: readonly T[]): T {
  const found = values.find((each) => each === value);
  if (found === undefined) throw invalidValue(name, `Must be one of ${values.join(", ")}.`);
  return found;
}

/** An offline phone stops receiving and resets every connection. */
function setOnline(simulator: SimulatorState, phone: SimulatorPhone, online: unknown): undefined {
  if (typeof online !== "boolean") throw invalidValue("online", "Must be true or false.");
  phone.online = online;
  if (!online) stopReceiving(simulator, phone);
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const text = (await readBody(request)).toString("utf8");
  if (text === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return { ...value };
  } catch {
    throw invalidValue("body", "Must be a JSON object.");
  }
  throw invalidValue("body", "Must be a JSON object.");
}

function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    request.on("data", (part: Buffer) => {
      length += part.length;
      if (length <= MAX_BODY_BYTES) parts.push(part);
      else reject(invalidValue("body", `Must be at most ${MAX_BODY_BYTES} bytes.`));
    });
    request.on("end", () => resolve(Buffer.concat(parts)));
    request.on("error", reject);
  });
}
