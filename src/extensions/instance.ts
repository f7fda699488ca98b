import type { Readable } from "node:stream";
import { Worker } from "node:worker_threads";
import type { Clock } from "../base/clock.ts";
import { workerEntry } from "../base/worker-entry.ts";
import type { PluginDefinition } from "../plugin-api/index.ts";
import { openDoor } from "./door.ts";
import { LEAVE, LEFT } from "./leave.ts";
import type { PluginWorkerData } from "./plugin-worker.ts";
import type { DoorInit, FromPlugin, ToPlugin } from "./wire.ts";

/** What a running plugin tells its supervisor; nothing more comes after `onEnd`. */
export interface InstanceEvents {
  onMessage(message: FromPlugin): void;
  /** The plugin is gone without having been killed; `reason` is in words. */
  onEnd(reason: string): void;
}

/** One run of a plugin. */
export interface Instance {
  send(message: ToPlugin): void;
  /** Ends it at once, whatever it does; resolves when it is gone. */
  kill(): Promise<void>;
}

/** Starts one run of a plugin. */
export type Launch = (init: DoorInit, events: InstanceEvents) => Instance;

/** Memory of a plugin's thread that is not the old generation, in MiB. */
const YOUNG_MB = 16;
const STACK_MB = 4;
const LONGEST_LINE = 1_000;
/** A thread that is not stuck closes its sockets at once. own choice */
const LEAVE_MS = 300;

/**
 * Launches a plugin in a thread of its own, with `memoryMb` for its objects and nothing of the environment. `onLine` gets
 * what it prints: stdout belongs to the daemon's own lines.
 */
export function launchInWorker(entry: URL, memoryMb: number, onLine: (line: string) => void): Launch {
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
    worker.on("message", (message: FromPlugin) => {
      if (!over) events.onMessage(message);
    });
    worker.on("error", (error: Error & { code?: string }) => end(reasonOf(error)));
    worker.on("exit", (code) => end(`it ended by itself with code ${code}`));
    return {
      send: (message) => worker.postMessage(message),
      async kill() {
        over = true;
        await left(worker);
        await worker.terminate();
      },
    };
  };
}

/** Resolves when no datagram comes to the thread any more, when it is gone, or when it does not say so in time. */
function left(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    if (worker.threadId === -1) return resolve();
    AbortSignal.timeout(LEAVE_MS).addEventListener("abort", () => resolve());
    worker.once("exit", () => resolve());
    worker.on("message", (message: unknown) => {
      if (message === LEFT) resolve();
    });
    worker.postMessage(LEAVE);
  });
}

/** Launches a plugin in this thread, for tests: the same door and the same copies, but no guard against a busy loop. */
export function launchInline(definition: PluginDefinition, clock: Clock): Launch {
  return (init, events) => {
    let over = false;
    let receive: (message: ToPlugin) => void = () => {};
    const carry = <T>(message: T, handler: (message: T) => void): void => {
      const copy = structuredClone(message);
      queueMicrotask(() => {
        if (!over) handler(copy);
      });
    };
    const door = openDoor(
      {
        send: (message) => carry(message, events.onMessage),
        receive: (handler) => {
          receive = handler;
        },
      },
      structuredClone(init),
      clock,
    );
    void door.start(definition);
    return {
      send: (message) => carry(message, (copy) => receive(copy)),
      async kill() {
        receive({ kind: "shutdown" });
        over = true;
      },
    };
  };
}

function reasonOf(error: Error & { code?: string }): string {
  if (error.code === "ERR_WORKER_OUT_OF_MEMORY") return "it needed more memory than it may have";
  return `it threw: ${error.message}`;
}

function readLines(stream: Readable, onLine: (line: string) => void): void {
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    for (const line of text.split("\n")) if (line.trim() !== "") onLine(line.slice(0, LONGEST_LINE));
  });
}
