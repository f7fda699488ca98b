import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Clock, Timer } from "../../base/clock.ts";
import { UpstreamError } from "../../base/errors.ts";
import { workerEntry } from "../../base/worker-entry.ts";
import { type NodeWork, workIn } from "../hub-doing.ts";
import type { BehindWord, FrontWord } from "./behind.ts";

/** Where a process listens. */
export interface Target {
  host: string;
  port: number;
}

/** What its process is started with. */
export interface ProcessNeeds {
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
  onTurn(target: Target | null): void;
  /** What takes long before that. */
  onWork(work: NodeWork): void;
  /** A line of its log. */
  onLog(line: string): void;
  /** It ended, in words. Nothing is called after that. */
  onEnd(reason: string): void;
}

/** The process of one organisation. */
export interface OrganisationProcess {
  readonly pid: number | undefined;
  /** Tells it whose connection is about to come from a port of this process; rejects when it ends before it knows. */
  announce(port: number, address: string): Promise<void>;
  /** Nobody comes from that port any more. */
  gone(port: number): void;
  /** Asks it to end, and ends it when it does not. */
  stop(): void;
}

/** A daemon ends within 5 s. */
const STOPPED_WITHIN_MS = 15_000;
const ASK_EVERY_MS = 10_000;
/**
 * Whose event loop stands still for a minute does not come back; a start may rebuild large tables. Counted by what was asked,
 * so that a front that stood still itself, as a paused machine does, blames nobody. own choice: far more than a slow machine takes
 */
const MOST_UNANSWERED = { running: 6, starting: 60 } as const;
/** What a service manager says is meant for the front; and one key for all organisations would open each of them to all. */
const OWN_ENV = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "CREDENTIALS_DIRECTORY"];

/** Starts it. What the database's password is comes by the environment alone. */
export function startOrganisation(needs: ProcessNeeds): OrganisationProcess {
  const { clock } = needs;
  const env = { ...needs.env };
  for (const name of OWN_ENV) delete env[name];
  const child = spawn(process.execPath, [...process.execArgv, ...programArguments(needs)], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env,
  });
  const waiting = new Map<number, { known(): void; failed(error: unknown): void }>();
  let lastWords = "";
  let stopping: Timer | null = null;
  let unanswered = 0;
  let patience: number = MOST_UNANSWERED.starting;
  const say = (word: FrontWord): void => {
    if (child.connected) child.send(word, () => undefined);
  };
  const asking = clock.every(ASK_EVERY_MS, () => {
    if (unanswered >= patience) {
      lastWords = "it did not answer any more";
      child.kill("SIGKILL");
      return;
    }
    unanswered += 1;
    say({ ping: 0 });
  });
  child.on("message", (word: BehindWord) => {
    unanswered = 0;
    if ("known" in word) waiting.get(word.known)?.known();
  });
  eachLine(child.stdout, (line) => {
    const work = workIn(line);
    if (work) return needs.onWork(work);
    const target = targetIn(line);
    if (target === undefined) return;
    patience = MOST_UNANSWERED.running;
    needs.onTurn(target);
  });
  eachLine(child.stderr, (line) => {
    if (!line.startsWith("{")) lastWords = line.replace(/^carillon: /, "");
    needs.onLog(line);
  });
  let hasEnded = false;
  const ended = (how: string): void => {
    if (hasEnded) return;
    hasEnded = true;
    asking.cancel();
    stopping?.cancel();
    const fault = new UpstreamError("starting", "The organisation's process ended.");
    for (const each of waiting.values()) each.failed(fault);
    needs.onEnd(lastWords === "" ? how : `${how}: ${lastWords}`);
  };
  child.once("error", (error) => ended(`it can't be started (${error.message})`));
  child.once("close", (code, signal) => ended(signal === null ? `ended with code ${code}` : `ended by ${signal}`));
  return {
    pid: child.pid,
    announce(port, address) {
      return new Promise((resolve, reject) => {
        if (!child.connected) return reject(new UpstreamError("starting", "The organisation's process ended."));
        const settled = (): unknown => waiting.delete(port);
        waiting.set(port, {
          known: () => settled() && resolve(),
          failed: (error) => settled() && reject(error),
        });
        say({ port, address });
      });
    },
    gone(port) {
      waiting.get(port)?.failed(new UpstreamError("starting", "The connection ended."));
      say({ gone: port });
    },
    stop() {
      child.kill("SIGTERM");
      stopping ??= clock.after(STOPPED_WITHIN_MS, () => child.kill("SIGKILL"));
    },
  };
}

function programArguments({ name, dataDir, publicUrl, config }: ProcessNeeds): string[] {
  const program = workerEntry(import.meta.url, "../../main").pathname;
  const file = config === undefined ? [] : ["--config", config];
  return [program, "hub", "--data", dataDir, "--organisation", name, "--front", publicUrl, ...file];
}

/** Where it listens once it acts; null while it stands by, undefined for what says neither. */
function targetIn(line: string): Target | null | undefined {
  const ready = /^\{"event":"ready","url":"https?:\/\/([\d.]+):(\d+)"/.exec(line);
  if (ready) return { host: ready[1] as string, port: Number(ready[2]) };
  return line.startsWith('{"event":"standby"') ? null : undefined;
}

function eachLine(stream: ChildProcess["stdout"], take: (line: string) => void): void {
  if (stream) createInterface({ input: stream }).on("line", take);
}
