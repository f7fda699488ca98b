import { closeSync, openSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join, relative } from "node:path";
import { CallerError, type ErrorType, UpstreamError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { ControlCommand } from "./control-commands.ts";

const NAME = "control.sock";
/** Longest question, in characters. */
const MAX_REQUEST_CHARACTERS = 65_536;
/** Longest answer: room for a list of some ten thousand entries. */
const MAX_RESPONSE_CHARACTERS = 16 * 1_048_576;
/** Room for a path in the address of a local socket, without its end mark. @source unix(7) */
const MAX_SOCKET_PATH_BYTES = 107;
const IDLE_MS = 30_000;

/** A line to the daemon. */
interface ControlRequest {
  order: string;
  args: Record<string, unknown>;
}

/** A line from the daemon: `result`, or what was wrong in words. */
type ControlResponse = { result: unknown } | { fault: { type: ErrorType | "bug"; message: string } };

/** The running socket. */
export interface ControlSocket {
  /** Ends open connections and removes the socket. */
  stop(): Promise<void>;
}

/**
 * Serves `orders` on the socket in `dataDir`, which only the daemon's own user (and root) can open. JSON lines: one
 * question, one answer. Call it while holding the lock on the data, since a socket left by a killed daemon is replaced.
 */
export function startControlSocket(
  dataDir: string,
  orders: Readonly<Record<string, ControlCommand>>,
  log: Log,
): Promise<ControlSocket> {
  rmSync(join(dataDir, NAME), { force: true });
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    socket.on("error", (error) => log.debug({ err: error }, "control connection broke"));
    serveConnection(socket, orders, log);
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

/** Binds with mode 0600 from the first moment on: the mask holds while the socket is made, which happens at once. */
function listenPrivately(server: Server, path: string): void {
  const before = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(before);
  }
}

/** Hands over an address of the socket that fits: absolute, from the working directory, or through an open folder. */
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

function serveConnection(socket: Socket, orders: Readonly<Record<string, ControlCommand>>, log: Log): void {
  let waiting: Promise<void> = Promise.resolve();
  socket.setTimeout(IDLE_MS, () => socket.destroy());
  readLines(socket, MAX_REQUEST_CHARACTERS, (line) => {
    if (line === null) {
      socket.end(
        `${JSON.stringify(errorResponse("too-large", `A line holds at most ${MAX_REQUEST_CHARACTERS} characters.`))}\n`,
      );
      return;
    }
    waiting = waiting.then(async () => {
      const answer = await respond(line, orders, log);
      if (socket.writable) socket.write(`${JSON.stringify(answer)}\n`);
    });
  });
}

async function respond(
  line: string,
  orders: Readonly<Record<string, ControlCommand>>,
  log: Log,
): Promise<ControlResponse> {
  const question = parseRequest(line);
  if (!question) return errorResponse("invalid-value", 'A line is {"order": "…", "args": {…}}.');
  const order = Object.hasOwn(orders, question.order) ? orders[question.order] : undefined;
  if (!order) return errorResponse("not-found", `This daemon knows no order ${JSON.stringify(question.order)}.`);
  try {
    return { result: await order(question.args) };
  } catch (error) {
    if (error instanceof CallerError) return errorResponse(error.type, error.message);
    log.error({ err: error, order: question.order }, "order failed");
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

/** Calls `take` with each line, and once with null in place of one that is too long; nothing follows that. */
function readLines(socket: Socket, maxLine: number, take: (line: string | null) => void): void {
  let rest = "";
  let over = false;
  socket.setEncoding("utf8");
  socket.on("data", (text: string) => {
    if (over) return;
    const lines = (rest + text).split("\n");
    rest = lines.pop() as string;
    for (const line of lines) if (line.length <= maxLine && line !== "") take(line);
    over = rest.length > maxLine || lines.some((line) => line.length > maxLine);
    if (over) take(null);
  });
}

/**
 * Gives one order to the daemon that uses `dataDir`; null when none answers there. Throws CallerError for what the daemon
 * refuses, UpstreamError when it breaks off.
 */
export async function sendControlCommand(
  dataDir: string,
  question: ControlRequest,
): Promise<{ result: unknown } | null> {
  const answer = await exchange(dataDir, question);
  if (answer === null || "result" in answer) return answer;
  const { type, message } = answer.fault;
  if (type === "bug") throw new UpstreamError("upstream", `The daemon failed: ${message}`);
  throw new CallerError(type, message);
}

function exchange(dataDir: string, question: ControlRequest): Promise<ControlResponse | null> {
  return new Promise((resolve, reject) => {
    const broken = (cause?: unknown): void =>
      reject(new UpstreamError("upstream", "The daemon broke off the connection.", {}, cause));
    const socket = withSocketPath(dataDir, (path) => connect(path));
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    socket.on("connect", () => socket.write(`${JSON.stringify(question)}\n`));
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
  return new UpstreamError("starting", `Only the daemon's own user may use the data in ${dataDir}.`, { dataDir });
}
