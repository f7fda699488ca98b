import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import type { Clock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import { externalAddresses } from "../lib/network-route.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { PluginRequest, PluginRequestHandler, PluginResponse } from "../plugin-api/index.ts";
import type { PluginPortSettings } from "./plugin-protocol.ts";

/** Maximum request body. */
export const MAX_BODY_BYTES = 65_536;
export const HANDLER_TIMEOUT_MS = 10_000;
/** Thousands of devices call back at once; their connections queue here instead of being refused. */
const BACKLOG = 4_096;
const MAX_CONNECTIONS = 8_192;

/** An open port of a plugin. */
export interface PluginPort {
  /** Where devices reach it now: the own address may change. */
  readonly url: string;
  port: number;
  close(): Promise<void>;
}

/** `onError` receives exceptions of handlers. */
export interface PluginPortDeps {
  clock: Clock;
  onError(error: unknown): void;
}

/** Opens the port `name`. Rejects with UpstreamError if it is in use or the address is not local. */
export function openPluginPort(
  name: string,
  setting: PluginPortSettings,
  handler: PluginRequestHandler,
  deps: PluginPortDeps,
): Promise<PluginPort> {
  const server = createServer(
    // Devices send their short requests at once, so slow ones are cut off.
    { headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000, keepAliveTimeout: 5_000 },
    (request, response) => void serve(request, response, handler, deps),
  );
  server.maxConnections = MAX_CONNECTIONS;
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      reject(
        new UpstreamError(
          "upstream",
          sentence("error.port-host-port-cannot-be-opened-problem", {
            host: setting.host,
            port: setting.port,
            problem: error.message,
          }),
        ),
      );
    });
    server.listen({ host: setting.host, port: setting.port, backlog: BACKLOG }, () => {
      const { port } = server.address() as AddressInfo;
      resolve({
        get url() {
          return publicUrl(name, setting, port);
        },
        port,
        close: () => close(server),
      });
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function publicUrl(name: string, setting: PluginPortSettings, port: number): string {
  if (setting.publicUrl !== null) return setting.publicUrl;
  const host = /^(0\.0\.0\.0|::)$/.test(setting.host) ? (externalAddresses()[0] ?? "127.0.0.1") : setting.host;
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}/${name}`;
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  handler: PluginRequestHandler,
  deps: PluginPortDeps,
): Promise<void> {
  try {
    const body =
      request.headers["content-length"] || request.headers["transfer-encoding"] ? await readBody(request) : "";
    if (body === null) return sendResponse(response, { status: 413 });
    const { method = "GET", url = "/", headers } = request;
    const asked = {
      method,
      url,
      headers,
      body: typeof body === "string" ? new Uint8Array() : body,
      // A getter, because it costs a system call and few handlers need it.
      get remoteAddress() {
        return request.socket.remoteAddress ?? "";
      },
    };
    sendResponse(response, await handleWithTimeout(asked, handler, deps));
  } catch (error) {
    // The caller disconnected while sending.
    if (!request.complete) return void request.destroy();
    deps.onError(error);
    sendResponse(response, { status: 500 });
  }
}

/** The handler's response; 504 on timeout, 500 if it throws. */
export async function handleWithTimeout(
  request: PluginRequest,
  handler: PluginRequestHandler,
  deps: PluginPortDeps,
): Promise<PluginResponse> {
  try {
    const made = handler(request);
    if (!(made instanceof Promise)) return made;
    return await new Promise<PluginResponse>((resolve, reject) => {
      const timer = deps.clock.after(HANDLER_TIMEOUT_MS, () => resolve({ status: 504 }));
      made.then(resolve, reject).finally(() => timer.cancel());
    });
  } catch (error) {
    deps.onError(error);
    return { status: 500 };
  }
}

/** The whole body; null if too long. The excess is discarded until the request times out. */
function readBody(request: IncomingMessage): Promise<Uint8Array | null> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    request.on("data", (part: Buffer) => {
      length += part.length;
      if (length <= MAX_BODY_BYTES) parts.push(part);
      else resolve(null);
    });
    request.on("error", reject);
    request.on("end", () => resolve(Buffer.concat(parts)));
  });
}

function sendResponse(response: ServerResponse, { status, headers = {}, body = "" }: PluginResponse): void {
  response.writeHead(status, {
    "X-Content-Type-Options": "nosniff",
    ...headers,
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(body);
}
