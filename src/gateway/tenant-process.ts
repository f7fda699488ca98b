import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Clock, Timer } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import { type NodeProgress, parseProgressLine } from "../wiring/cloud-node/node-status.ts";
import type { BackendMessage, GatewayMessage } from "./backend-protocol.ts";

/** Where a process listens. */
export interface ProcessAddress {
  host: string;
  port: number;
}

/** What its process is started with. */
export interface TenantProcessDeps {
  /** Of the organisation. */
  name: string;
  /** Of this node's copy of it. */
  dataDir: string;
  /** Under which people and appliances reach it. */
  publicUrl: string;
  /** Settings file, for all organisations. */
  config: string | undefined;
  /** With what the database needs. */
  env: NodeJS.ProcessEnv;
  clock: Clock;
  /** It acts, listening there, or, with null, stands by. */
  onRoleChange(target: ProcessAddress | null): void;
  /** What takes long before that. */
  onProgress(work: NodeProgress): void;
  /** A line of its log. */
  onLog(line: string): void;
  /** It ended, in words. Nothing is called after that. */
  onEnd(reason: string): void;
}

/** The process of one organisation. */
export interface TenantProcess {
  readonly pid: number | undefined;
  /** Tells it whose connection is about to come from a port of this process; rejects when it ends before it knows. */
  announceClient(port: number, address: string): Promise<void>;
  /** Nobody comes from that port any more. */
  releaseClient(port: number): void;
  /** Asks it to end, and ends it when it does not. */
  stop(): void;
}

/** A daemon ends within 5 s. */
const STOP_TIMEOUT_MS = 15_000;
const PING_INTERVAL_MS = 10_000;
/**
 * Whose event loop stands still for a minute does not come back; a start may rebuild large tables. Counted by what was asked,
 * so that a front that stood still itself, as a paused machine does, blames nobody. own choice: far more than a slow machine takes
 */
const MAX_UNANSWERED_PINGS = { running: 6, starting: 60 } as const;
/** What a service manager says is meant for the front; and one key for all organisations would open each of them to all. */
const GATEWAY_ONLY_ENV = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "CREDENTIALS_DIRECTORY"];

/** Starts it. What the database's password is comes by the environment alone. */
export function startTenantProcess(needs: TenantProcessDeps): TenantProcess {
  const { clock } = needs;
  const env = { ...needs.env };
  for (const name of GATEWAY_ONLY_ENV) delete env[name];
  const child = spawn(process.execPath, [...process.execArgv, ...programArguments(needs)], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env,
  });
  const pendingAnnouncements = new Map<number, { known(): void; failed(error: unknown): void }>();
  let lastErrorLine = "";
  let stopping: Timer | null = null;
  let unanswered = 0;
  let maxUnanswered: number = MAX_UNANSWERED_PINGS.starting;
  const send = (word: GatewayMessage): void => {
    if (child.connected) child.send(word, () => undefined);
  };
  const pingTimer = clock.every(PING_INTERVAL_MS, () => {
    if (unanswered >= maxUnanswered) {
      lastErrorLine = "it did not answer any more";
      child.kill("SIGKILL");
      return;
    }
    unanswered += 1;
    send({ ping: 0 });
  });
  child.on("message", (word: BackendMessage) => {
    unanswered = 0;
    if ("known" in word) pendingAnnouncements.get(word.known)?.known();
  });
  onEachLine(child.stdout, (line) => {
    const work = parseProgressLine(line);
    if (work) return needs.onProgress(work);
    const target = parseReadyLine(line);
    if (target === undefined) return;
    maxUnanswered = MAX_UNANSWERED_PINGS.running;
    needs.onRoleChange(target);
  });
  onEachLine(child.stderr, (line) => {
    if (!line.startsWith("{")) lastErrorLine = line.replace(/^carillon: /, "");
    needs.onLog(line);
  });
  let hasEnded = false;
  const onExit = (how: string): void => {
    if (hasEnded) return;
    hasEnded = true;
    pingTimer.cancel();
    stopping?.cancel();
    const fault = new UpstreamError("starting", "The organisation's process ended.");
    for (const each of pendingAnnouncements.values()) each.failed(fault);
    needs.onEnd(lastErrorLine === "" ? how : `${how}: ${lastErrorLine}`);
  };
  child.once("error", (error) => onExit(`it can't be started (${error.message})`));
  child.once("close", (code, signal) => onExit(signal === null ? `ended with code ${code}` : `ended by ${signal}`));
  return {
    pid: child.pid,
    announceClient(port, address) {
      return new Promise((resolve, reject) => {
        if (!child.connected) return reject(new UpstreamError("starting", "The organisation's process ended."));
        const settled = (): unknown => pendingAnnouncements.delete(port);
        pendingAnnouncements.set(port, {
          known: () => settled() && resolve(),
          failed: (error) => settled() && reject(error),
        });
        send({ port, address });
      });
    },
    releaseClient(port) {
      pendingAnnouncements.get(port)?.failed(new UpstreamError("starting", "The connection ended."));
      send({ gone: port });
    },
    stop() {
      child.kill("SIGTERM");
      stopping ??= clock.after(STOP_TIMEOUT_MS, () => child.kill("SIGKILL"));
    },
  };
}

function programArguments({ name, dataDir, publicUrl, config }: TenantProcessDeps): string[] {
  const program = workerEntry(import.meta.url, "../main").pathname;
  const file = config === undefined ? [] : ["--config", config];
  return [program, "hub", "--data", dataDir, "--organisation", name, "--front", publicUrl, ...file];
}

/** Where it listens once it acts; null while it stands by, undefined for what says neither. */
function parseReadyLine(line: string): ProcessAddress | null | undefined {
  const ready = /^\{"event":"ready","url":"https?:\/\/([\d.]+):(\d+)"/.exec(line);
  if (ready) return { host: ready[1] as string, port: Number(ready[2]) };
  return line.startsWith('{"event":"standby"') ? null : undefined;
}

function onEachLine(stream: ChildProcess["stdout"], take: (line: string) => void): void {
  if (stream) createInterface({ input: stream }).on("line", take);
}
