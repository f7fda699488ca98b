import type { Readable } from "node:stream";
import { Worker } from "node:worker_threads";
import type { Clock } from "../lib/clock.ts";
import { runAs } from "../lib/current-work.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import type { PluginDefinition } from "../plugin-api/index.ts";
import { SHUTDOWN_COMPLETE, SHUTDOWN_REQUEST } from "./graceful-shutdown.ts";
import type { FromPlugin, PluginInit, ToPlugin } from "./plugin-protocol.ts";
import { createPluginRuntime } from "./plugin-runtime.ts";
import type { PluginWorkerData } from "./plugin-worker.ts";

/** Callbacks of a running plugin; nothing follows `onEnd`. */
export interface PluginInstanceEvents {
  onMessage(message: FromPlugin): void;
  /** The plugin exited without `kill`; `reason` is text for people. */
  onEnd(reason: string): void;
}

/** One run of a plugin. */
export interface PluginInstance {
  send(message: ToPlugin): void;
  /** Terminates the run unconditionally; resolves when it is gone. */
  kill(): Promise<void>;
}

/** Starts one run of a plugin. */
export type LaunchPlugin = (init: PluginInit, events: PluginInstanceEvents) => PluginInstance;

/** Further memory limits of a plugin's thread, in MiB. */
const YOUNG_MB = 16;
const STACK_MB = 4;
const MAX_LINE_LENGTH = 1_000;
/** A responsive thread closes its sockets within this time. */
const SHUTDOWN_TIMEOUT_MS = 300;

/**
 * Launches plugins in worker threads with a heap of `memoryMb` and an empty environment. `onLine` receives their
 * output: stdout is reserved for the daemon.
 */
export function launchInWorker(entry: URL, memoryMb: number, onLine: (line: string) => void): LaunchPlugin {
  return (init, events) => {
    const data: PluginWorkerData = { entry: entry.href, init };
    const worker = new Worker(workerEntry(import.meta.url, "./plugin-worker"), {
      workerData: data,
      env: {},
      name: init.plugin,
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: YOUNG_MB, stackSizeMb: STACK_MB },
    });
    readLines(worker.stdout, onLine);
    readLines(worker.stderr, onLine);
    let over = false;
    const end = (reason: string): void => {
      if (over) return;
      over = true;
      events.onEnd(reason);
    };
    const work = `plugin ${init.plugin}`;
    worker.on("message", (message: FromPlugin) => {
      if (!over) runAs(work, () => events.onMessage(message));
    });
    worker.on("error", (error: Error & { code?: string }) => end(exitReasonOf(error)));
    worker.on("exit", (code) => end(sentence("plugin-host.exited", { code })));
    return {
      send: (message) => worker.postMessage(message),
      async kill() {
        over = true;
        await socketsClosed(worker);
        await worker.terminate();
      },
    };
  };
}

/** Resolves when the thread has closed its UDP sockets, is gone, or does not respond in time. */
function socketsClosed(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    if (worker.threadId === -1) return resolve();
    AbortSignal.timeout(SHUTDOWN_TIMEOUT_MS).addEventListener("abort", () => resolve());
    worker.once("exit", () => resolve());
    worker.on("message", (message: unknown) => {
      if (message === SHUTDOWN_COMPLETE) resolve();
    });
    worker.postMessage(SHUTDOWN_REQUEST);
  });
}

/** Launches plugins in this thread, for tests: the same interface and copies, but no protection against a busy loop. */
export function launchInline(definition: PluginDefinition, clock: Clock): LaunchPlugin {
  return (init, events) => {
    let over = false;
    let receive: (message: ToPlugin) => void = () => {};
    const carry = <T>(message: T, handler: (message: T) => void): void => {
      const copy = structuredClone(message);
      queueMicrotask(() => {
        if (!over) handler(copy);
      });
    };
    const runtime = createPluginRuntime(
      {
        send: (message) => carry(message, events.onMessage),
        receive: (handler) => {
          receive = handler;
        },
      },
      structuredClone(init),
      clock,
    );
    void runtime.start(definition);
    return {
      send: (message) => carry(message, (copy) => receive(copy)),
      async kill() {
        receive({ kind: "shutdown" });
        over = true;
      },
    };
  };
}

function exitReasonOf(error: Error & { code?: string }): string {
  if (error.code === "ERR_WORKER_OUT_OF_MEMORY") return sentence("plugin-host.out-of-memory");
  return sentence("plugin-host.uncaught", { message: error.message });
}

function readLines(stream: Readable, onLine: (line: string) => void): void {
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    for (const line of text.split("\n")) if (line.trim() !== "") onLine(line.slice(0, MAX_LINE_LENGTH));
  });
}
