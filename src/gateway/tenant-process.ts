import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Clock, Timer } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import { type NodeProgress, parseProgressLine } from "../wiring/cloud-node/node-status.ts";
import type { BackendMessage, GatewayMessage } from "./backend-protocol.ts";

/** Address a tenant process listens at. */
export interface ProcessAddress {
  host: string;
  port: number;
}

export interface TenantProcessDeps {
  /** Name of the tenant. */
  name: string;
  /** Data directory of this node's replica. */
  dataDir: string;
  /** Public base URL. */
  publicUrl: string;
  /** Settings file, shared by all tenants. */
  config: string | undefined;
  /** Contains the database credentials. */
  env: NodeJS.ProcessEnv;
  clock: Clock;
  /** The process became active and listens at `target`, or, with null, became standby. */
  onRoleChange(target: ProcessAddress | null): void;
  /** Progress of long work before that. */
  onProgress(work: NodeProgress): void;
  /** One line of its log. */
  onLog(line: string): void;
  /** The process ended; no other callback follows. */
  onEnd(reason: string): void;
}

/** The process of one tenant. */
export interface TenantProcess {
  readonly pid: number | undefined;
  /** Announces the client address behind a local port; rejects when the process ends before it confirms. */
  announceClient(port: number, address: string): Promise<void>;
  /** The connection from that port is closed. */
  releaseClient(port: number): void;
  /** Sends SIGTERM, and SIGKILL after a timeout. */
  stop(): void;
}

/** A daemon stops within 5 s. */
const STOP_TIMEOUT_MS = 15_000;
const PING_INTERVAL_MS = 10_000;
/**
 * A process that misses all pings for a minute (10 minutes while starting, when it may rebuild large tables) is killed. Missed
 * pings are counted instead of time, so that a pause of the gateway itself, as of a suspended machine, does not count.
 */
const MAX_UNANSWERED_PINGS = { running: 6, starting: 60 } as const;
/** The systemd notification variables are meant for the gateway; a shared credential would open each tenant's secrets to all. */
const GATEWAY_ONLY_ENV = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "CREDENTIALS_DIRECTORY"];

/** Spawns the process. The database password is passed in the environment only. */
export function startTenantProcess(deps: TenantProcessDeps): TenantProcess {
  const { clock } = deps;
  const env = { ...deps.env };
  for (const name of GATEWAY_ONLY_ENV) delete env[name];
  const child = spawn(process.execPath, [...process.execArgv, ...programArguments(deps)], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env,
  });
  const pendingAnnouncements = new Map<number, { known(): void; failed(error: unknown): void }>();
  let lastErrorLine = "";
  let killTimer: Timer | null = null;
  let unanswered = 0;
  let maxUnanswered: number = MAX_UNANSWERED_PINGS.starting;
  const send = (message: GatewayMessage): void => {
    if (child.connected) child.send(message, () => undefined);
  };
  const pingTimer = clock.every(PING_INTERVAL_MS, () => {
    if (unanswered >= maxUnanswered) {
      lastErrorLine = "no response to pings";
      child.kill("SIGKILL");
      return;
    }
    unanswered += 1;
    send({ ping: 0 });
  });
  child.on("message", (message: BackendMessage) => {
    unanswered = 0;
    if ("known" in message) pendingAnnouncements.get(message.known)?.known();
  });
  onEachLine(child.stdout, (line) => {
    const work = parseProgressLine(line);
    if (work) return deps.onProgress(work);
    const target = parseReadyLine(line);
    if (target === undefined) return;
    maxUnanswered = MAX_UNANSWERED_PINGS.running;
    deps.onRoleChange(target);
  });
  onEachLine(child.stderr, (line) => {
    if (!line.startsWith("{")) lastErrorLine = line.replace(/^carillon: /, "");
    deps.onLog(line);
  });
  let hasEnded = false;
  const onExit = (cause: string): void => {
    if (hasEnded) return;
    hasEnded = true;
    pingTimer.cancel();
    killTimer?.cancel();
    const error = new UpstreamError("starting", sentence("error.the-organisation-s-process-ended"));
    for (const each of pendingAnnouncements.values()) each.failed(error);
    deps.onEnd(lastErrorLine === "" ? cause : `${cause}: ${lastErrorLine}`);
  };
  child.once("error", (error) => onExit(`failed to start (${error.message})`));
  child.once("close", (code, signal) => onExit(signal === null ? `ended with code ${code}` : `ended by ${signal}`));
  return {
    pid: child.pid,
    announceClient(port, address) {
      return new Promise((resolve, reject) => {
        if (!child.connected)
          return reject(new UpstreamError("starting", sentence("error.the-organisation-s-process-ended")));
        const settled = (): unknown => pendingAnnouncements.delete(port);
        pendingAnnouncements.set(port, {
          known: () => settled() && resolve(),
          failed: (error) => settled() && reject(error),
        });
        send({ port, address });
      });
    },
    releaseClient(port) {
      pendingAnnouncements.get(port)?.failed(new UpstreamError("starting", sentence("error.the-connection-ended")));
      send({ gone: port });
    },
    stop() {
      child.kill("SIGTERM");
      killTimer ??= clock.after(STOP_TIMEOUT_MS, () => child.kill("SIGKILL"));
    },
  };
}

function programArguments({ name, dataDir, publicUrl, config }: TenantProcessDeps): string[] {
  const program = workerEntry(import.meta.url, "../main").pathname;
  const file = config === undefined ? [] : ["--config", config];
  return [program, "hub", "--data", dataDir, "--organisation", name, "--front", publicUrl, ...file];
}

/** Address of an active process; null for standby, undefined for any other line. */
function parseReadyLine(line: string): ProcessAddress | null | undefined {
  const ready = /^\{"event":"ready","url":"https?:\/\/([\d.]+):(\d+)"/.exec(line);
  if (ready) return { host: ready[1] as string, port: Number(ready[2]) };
  return line.startsWith('{"event":"standby"') ? null : undefined;
}

function onEachLine(stream: ChildProcess["stdout"], onLine: (line: string) => void): void {
  if (stream) createInterface({ input: stream }).on("line", onLine);
}
