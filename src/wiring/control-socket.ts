import { closeSync, openSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join, relative } from "node:path";
import { CallerError, type ErrorType, UpstreamError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { ControlCommand } from "./control-commands.ts";

const NAME = "control.sock";
/** Longest request line, in characters. */
const MAX_REQUEST_CHARACTERS = 65_536;
/** Longest response line, in characters: room for a list of some ten thousand entries. */
const MAX_RESPONSE_CHARACTERS = 16 * 1_048_576;
/** Length limit of a socket path, without the terminating null byte. @source unix(7) */
const MAX_SOCKET_PATH_BYTES = 107;
const IDLE_MS = 30_000;

/** Request line. */
interface ControlRequest {
  order: string;
  args: Record<string, unknown>;
}

/** Response line: `result`, or the error. */
type ControlResponse = { result: unknown } | { fault: { type: ErrorType | "bug"; message: string } };

export interface ControlSocket {
  /** Closes open connections and removes the socket. */
  stop(): Promise<void>;
}

/**
 * Serves `commands` on the socket in `dataDir`, which only the daemon's own user (and root) can open. Protocol: JSON lines, one
 * response per request. Call it while holding the lock on the data, since the socket of a killed daemon is replaced.
 */
export function startControlSocket(
  dataDir: string,
  commands: Readonly<Record<string, ControlCommand>>,
  log: Log,
): Promise<ControlSocket> {
  rmSync(join(dataDir, NAME), { force: true });
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    socket.on("error", (error) =>
      log.debug({ event: "control.connection_failed", err: error }, "control connection failed"),
    );
    serveConnection(socket, commands, log);
  });
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of open) socket.destroy();
    });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("listening", () => resolve({ stop }));
    withSocketPath(dataDir, (path) => listenPrivately(server, path));
  });
}

/** Serves `commands` from its start on; see `startControlSocket`. */
export function createControlSocket(...options: Parameters<typeof startControlSocket>): {
  start(): Promise<void>;
  stop(): Promise<void>;
} {
  let socket: ControlSocket | null = null;
  return {
    async start() {
      socket = await startControlSocket(...options);
    },
    stop: async () => socket?.stop(),
  };
}

/** Binds with mode 0600 from the start: the umask applies while the socket is created, which is synchronous. */
function listenPrivately(server: Server, path: string): void {
  const before = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(before);
  }
}

/** Passes a socket path that fits the limit: absolute, relative to the working directory, or through an open folder. */
function withSocketPath<T>(dataDir: string, use: (path: string) => T): T {
  const path = [join(dataDir, NAME), relative(process.cwd(), join(dataDir, NAME))].find(
    (each) => Buffer.byteLength(each) <= MAX_SOCKET_PATH_BYTES,
  );
  if (path !== undefined) return use(path);
  const folder = openSync(dataDir, "r");
  try {
    return use(`/proc/self/fd/${folder}/${NAME}`);
  } finally {
    closeSync(folder);
  }
}

function serveConnection(socket: Socket, commands: Readonly<Record<string, ControlCommand>>, log: Log): void {
  let lastResponse: Promise<void> = Promise.resolve();
  socket.setTimeout(IDLE_MS, () => socket.destroy());
  readLines(socket, MAX_REQUEST_CHARACTERS, (line) => {
    if (line === null) {
      socket.end(
        `${JSON.stringify(errorResponse("too-large", `A line must have at most ${MAX_REQUEST_CHARACTERS} characters.`))}\n`,
      );
      return;
    }
    lastResponse = lastResponse.then(async () => {
      const response = await respond(line, commands, log);
      if (socket.writable) socket.write(`${JSON.stringify(response)}\n`);
    });
  });
}

async function respond(
  line: string,
  commands: Readonly<Record<string, ControlCommand>>,
  log: Log,
): Promise<ControlResponse> {
  const request = parseRequest(line);
  if (!request) return errorResponse("invalid-value", 'A line must be {"order": "…", "args": {…}}.');
  const command = Object.hasOwn(commands, request.order) ? commands[request.order] : undefined;
  if (!command)
    return errorResponse(
      "not-found",
      `Unknown command ${JSON.stringify(request.order)}: this daemon does not support it.`,
    );
  try {
    return { result: await command(request.args) };
  } catch (error) {
    if (error instanceof CallerError) return errorResponse(error.type, error.message);
    log.error({ event: "control.command_failed", err: error, command: request.order }, "control command failed");
    return errorResponse("bug", error instanceof Error ? error.message : String(error));
  }
}

function errorResponse(type: ErrorType | "bug", message: string): ControlResponse {
  return { fault: { type, message } };
}

function parseRequest(line: string): ControlRequest | null {
  try {
    const value = JSON.parse(line) as Partial<ControlRequest> | null;
    if (typeof value?.order !== "string") return null;
    const args = value.args ?? {};
    return typeof args === "object" && !Array.isArray(args) ? { order: value.order, args } : null;
  } catch {
    return null;
  }
}

/** Calls `onLine` with each line, and once with null if a line is too long; nothing follows that. */
function readLines(socket: Socket, maxLine: number, onLine: (line: string | null) => void): void {
  let rest = "";
  let isTooLong = false;
  socket.setEncoding("utf8");
  socket.on("data", (text: string) => {
    if (isTooLong) return;
    const lines = (rest + text).split("\n");
    rest = lines.pop() as string;
    for (const line of lines) if (line.length <= maxLine && line !== "") onLine(line);
    isTooLong = rest.length > maxLine || lines.some((line) => line.length > maxLine);
    if (isTooLong) onLine(null);
  });
}

/**
 * Sends one command to the daemon that uses `dataDir`; null if none runs. Throws CallerError if the daemon rejects the
 * command, UpstreamError if the connection breaks.
 */
export async function sendControlCommand(
  dataDir: string,
  request: ControlRequest,
): Promise<{ result: unknown } | null> {
  const response = await exchange(dataDir, request);
  if (response === null || "result" in response) return response;
  const { type, message } = response.fault;
  if (type === "bug") throw new UpstreamError("upstream", `The daemon failed: ${message}`);
  throw new CallerError(type, message);
}

function exchange(dataDir: string, request: ControlRequest): Promise<ControlResponse | null> {
  return new Promise((resolve, reject) => {
    const broken = (cause?: unknown): void =>
      reject(new UpstreamError("upstream", "The daemon closed the connection.", {}, cause));
    const socket = withSocketPath(dataDir, (path) => connect(path));
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    socket.on("connect", () => socket.write(`${JSON.stringify(request)}\n`));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ECONNREFUSED") resolve(null);
      else if (error.code === "EACCES") reject(accessDeniedError(dataDir));
      else broken(error);
    });
    readLines(socket, MAX_RESPONSE_CHARACTERS, (line) => {
      if (line === null) return broken();
      resolve(JSON.parse(line) as ControlResponse);
      socket.destroy();
    });
    socket.on("close", () => broken());
  });
}

function accessDeniedError(dataDir: string): UpstreamError {
  return new UpstreamError(
    "starting",
    `No permission for ${dataDir}: run the command as the daemon's user or as root.`,
    { dataDir },
  );
}
