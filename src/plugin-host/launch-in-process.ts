import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { setPriority } from "node:os";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Clock } from "../lib/clock.ts";
import { runAs } from "../lib/current-work.ts";
import { UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { fullBucket, takeToken } from "../lib/token-bucket.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import type { PluginNetwork } from "../plugin-api/index.ts";
import { targetsInSettings } from "./configured-targets.ts";
import type { PluginFields } from "./installed-plugins.ts";
import { createFrameReader, encodeFrame, MAX_PLUGIN_FRAME_BYTES } from "./plugin-frames.ts";
import type { LaunchPlugin } from "./plugin-instance.ts";
import { isPluginMessage } from "./plugin-message-check.ts";
import type { FromProcess, ProcessStart } from "./plugin-process-worker.ts";

export interface ProcessLaunchDeps {
  /** URL of index.js or config.js. */
  entry: URL;
  /** The only folder that the plugin writes. */
  dataFolder: string;
  /** JavaScript heap. */
  memoryMb: number;
  network: PluginNetwork;
  clock: Clock;
  onLine(line: string): void;
}

const MAX_LINE_LENGTH = 1_000;
/** Memory of a process beside the JavaScript heap: the engine itself, buffers, and sockets. */
const BESIDE_HEAP_MB = 192;
const MEMORY_CHECK_MS = 500;
/** Messages and lines of output: outcomes and log lines come in thousands when many devices answer at once. */
const MESSAGE_RATE = { capacity: 20_000, perMs: 5 };
/** KiB of messages. */
const VOLUME_RATE = { capacity: 65_536, perMs: 16 };
/** Bytes that wait for a process that does not read. */
const MAX_UNREAD_BYTES = 134_217_728;
/** The system ends plugins before the daemon when memory runs out. */
const OUT_OF_MEMORY_SCORE = "800";
/** Runs below the daemon, whose thread sends audio. */
const NICENESS = 5;
const FIELDS_TIMEOUT_MS = 15_000;
/** Ends the process with the daemon, however that ends; part of Debian's util-linux. */
const SETPRIV = "/usr/bin/setpriv";

/**
 * Launches a plugin in a process with Node's permission model: it reads the product's code, its own folder and its data folder,
 * writes its data folder, and starts neither processes nor threads. `process-guard.ts` closes what the model leaves open.
 */
export function launchInProcess(deps: ProcessLaunchDeps): LaunchPlugin {
  return (init, events) => {
    const { hosts = [], settings = [], deviceAttributes = [] } = deps.network;
    const started: ProcessStart = {
      ...{ kind: "run", entry: deps.entry.href, init, hosts, deviceAttributes },
      targets: targetsInSettings(init.config, settings),
    };
    const work = `plugin ${init.plugin}`;
    const running = openProcess(deps, started, {
      onMessage: (message) => {
        if (message.kind !== "fields") runAs(work, () => events.onMessage(message));
      },
      onEnd: events.onEnd,
    });
    return { send: (message) => running.send(message), kill: () => running.kill() };
  };
}

/** Reads the fields of a config.js in a process like that of the plugin, since it is code, too. */
export async function readFieldsInProcess(deps: Omit<ProcessLaunchDeps, "network" | "onLine">): Promise<PluginFields> {
  let running: PluginProcess | null = null;
  try {
    return await new Promise<PluginFields>((resolve, reject) => {
      const fail = (reason: string): void => reject(new UpstreamError("upstream", reason));
      const lines: string[] = [];
      running = openProcess(
        { ...deps, network: {}, onLine: (line) => void lines.push(line) },
        { kind: "fields", entry: deps.entry.href },
        {
          onMessage: (message) => {
            if (message.kind === "fields") resolve({ config: message.config, profile: message.profile });
          },
          onEnd: (reason) => fail(lines.find((line) => /^\w*Error\b/.test(line)) ?? reason),
        },
      );
      AbortSignal.timeout(FIELDS_TIMEOUT_MS).addEventListener("abort", () =>
        fail(sentence("plugin-host.silent", { seconds: FIELDS_TIMEOUT_MS / 1_000 })),
      );
    });
  } finally {
    await (running as PluginProcess | null)?.kill();
  }
}

interface PluginProcess {
  send(message: unknown): void;
  /** Resolves when the process is gone. */
  kill(): Promise<void>;
}

interface ProcessEvents {
  onMessage(message: FromProcess): void;
  onEnd(reason: string): void;
}

function openProcess(deps: ProcessLaunchDeps, start: ProcessStart, events: ProcessEvents): PluginProcess {
  const { clock } = deps;
  const child = spawnNode(deps);
  const link = child.stdio[3] as Socket;
  let isOver = false;
  let isOutOfMemory = false;
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const end = (reason: string): void => {
    if (isOver) return;
    isOver = true;
    memoryCheck.cancel();
    child.kill("SIGKILL");
    events.onEnd(reason);
  };
  const messages = fullBucket(MESSAGE_RATE, clock.monotonicMs());
  const volume = fullBucket(VOLUME_RATE, clock.monotonicMs());
  /** False when the plugin has said too much, and is ended. */
  const isWithinRates = (bytes: number): boolean => {
    const now = clock.monotonicMs();
    const isFast = takeToken(messages, MESSAGE_RATE, now) > 0;
    const isLarge = takeToken(volume, VOLUME_RATE, now) > 0;
    volume.left -= bytes / 1_024;
    if (isFast || isLarge) end(sentence("plugin-host.too-many-messages"));
    return !isFast && !isLarge;
  };
  const memoryCheck = clock.every(MEMORY_CHECK_MS, () => {
    if (residentMb(child) <= deps.memoryMb + BESIDE_HEAP_MB) return;
    isOutOfMemory = true;
    end(sentence("plugin-host.out-of-memory"));
  });
  const read = createFrameReader(MAX_PLUGIN_FRAME_BYTES, (message, bytes) => {
    if (isOver || !isWithinRates(bytes)) return;
    if (isPluginMessage(message)) events.onMessage(message);
    else end(sentence("plugin-host.invalid-message"));
  });
  link.on("data", (chunk: Buffer) => {
    if (isOver) return;
    try {
      read(chunk);
    } catch (error) {
      deps.onLine(`message refused: ${error instanceof Error ? error.message : String(error)}`);
      end(sentence("plugin-host.invalid-message"));
    }
  });
  // The process ends with its link; its exit says why.
  link.on("error", () => {});
  for (const stream of [child.stdout, child.stderr])
    readLines(stream as Readable, (line) => {
      if (isOver || !isWithinRates(line.length)) return;
      if (line.includes("JavaScript heap out of memory")) isOutOfMemory = true;
      deps.onLine(line.slice(0, MAX_LINE_LENGTH));
    });
  child.once("error", (error) => end(sentence("plugin-host.not-started", { reason: error.message })));
  child.once("exit", (code, signal) => {
    if (isOutOfMemory || signal === "SIGABRT") end(sentence("plugin-host.out-of-memory"));
    else if (code === null) end(sentence("plugin-host.killed", { signal: signal ?? "" }));
    else end(sentence("plugin-host.exited", { code }));
  });
  const send = (message: unknown): void => {
    if (isOver || !link.writable) return;
    link.write(encodeFrame(message));
    if (link.writableLength > MAX_UNREAD_BYTES) end(sentence("plugin-host.unread-messages"));
  };
  send(start);
  return {
    send,
    async kill() {
      isOver = true;
      memoryCheck.cancel();
      child.kill("SIGKILL");
      await gone;
    },
  };
}

function spawnNode(deps: ProcessLaunchDeps): ChildProcess {
  const { entry, dataFolder, memoryMb } = deps;
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  const own = dirname(fileURLToPath(entry));
  const process_ = fileURLToPath(workerEntry(import.meta.url, "./plugin-process-worker"));
  const readable = [
    ...productFolders(),
    own,
    `${dirname(own)}/package.json`,
    `${dirname(own)}/plugin-api.js`,
    dataFolder,
  ];
  const options = [
    "--permission",
    ...readable.map((path) => `--allow-fs-read=${path}`),
    `--allow-fs-write=${dataFolder}`,
    // Its files are opened by the database library, past the permission model.
    "--no-experimental-sqlite",
    `--max-old-space-size=${memoryMb}`,
  ];
  const { TZ, NODE_EXTRA_CA_CERTS } = process.env;
  const env = { ...(TZ !== undefined && { TZ }), ...(NODE_EXTRA_CA_CERTS !== undefined && { NODE_EXTRA_CA_CERTS }) };
  const command = existsSync(SETPRIV) ? [SETPRIV, "--pdeathsig", "KILL", process.execPath] : [process.execPath];
  const [program = process.execPath, ...given] = command;
  const child = spawn(program, [...given, ...options, process_], {
    // A signal to its process group reaches the plugin alone.
    ...{ env, cwd: dataFolder, detached: true, stdio: ["ignore", "pipe", "pipe", "pipe"] },
  });
  if (child.pid !== undefined) yieldToDaemon(child.pid);
  return child;
}

/** The product's code; its data are elsewhere. */
function productFolders(): string[] {
  const dist = fileURLToPath(new URL("../../", workerEntry(import.meta.url, "./plugin-process-worker")));
  const root = dirname(dist);
  const modules = `${root}/node_modules`;
  const real = existsSync(modules) ? [realpathSync(modules)] : [];
  return [dist, modules, ...real, `${root}/package.json`];
}

function yieldToDaemon(pid: number): void {
  for (const act of [
    () => setPriority(pid, NICENESS),
    () => writeFileSync(`/proc/${pid}/oom_score_adj`, OUT_OF_MEMORY_SCORE),
  ])
    try {
      act();
    } catch {
      // It has already exited, or the system does not allow it.
    }
}

/** Memory of the process in MiB; 0 when it cannot be read. */
function residentMb({ pid }: ChildProcess): number {
  try {
    const [, kib = "0"] = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kib) / 1_024;
  } catch {
    return 0;
  }
}

function readLines(stream: Readable, onLine: (line: string) => void): void {
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    for (const line of text.split("\n")) if (line.trim() !== "") onLine(line);
  });
}
