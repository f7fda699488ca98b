import { Worker } from "node:worker_threads";
import { workerEntry } from "../base/worker-entry.ts";
import { ClusterFault } from "./cluster-fault.ts";
import type { GatherCall, GatherReply, GatherSettings } from "./gather-messages.ts";
import type { ClusterReader, GatheringNeeds } from "./gathering.ts";

/** Objects that the thread may hold: some 20,000 phones and one answer of a cluster are 60 MB. own choice */
const MEMORY_MB = 384;

interface Pending {
  resolve(value: never): void;
  reject(error: Error): void;
}

/**
 * Reads clusters in a thread, which is started with the first call and lives until `close`. A thread that ends on its own
 * fails the calls under way with ClusterFault `stopped`; the next call starts another one.
 */
export function createReadingThread(settings: GatherSettings, onProgress: GatheringNeeds["onProgress"]): ClusterReader {
  let worker: Worker | null = null;
  let lastId = 0;
  const pending = new Map<number, Pending>();

  function start(): Worker {
    const limits = { resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB } };
    const started = new Worker(workerEntry(import.meta.url, "./gather-worker"), { workerData: settings, ...limits });
    started.on("message", take);
    const end = (words: string): void => {
      if (worker !== started) return;
      worker = null;
      for (const { reject } of pending.values()) reject(new ClusterFault("stopped", words));
      pending.clear();
    };
    started.on("error", (error) => end(`Reading ended: ${error.message}`));
    started.on("exit", () => end("Reading ended."));
    return started;
  }

  function take(reply: GatherReply): void {
    if ("clusterId" in reply) {
      onProgress(reply.clusterId, reply.progress);
      return;
    }
    const call = pending.get(reply.id);
    pending.delete(reply.id);
    if ("fault" in reply) call?.reject(new ClusterFault(reply.fault.code, reply.fault.message));
    else call?.resolve(reply.value as never);
  }

  function call<T>(method: GatherCall["method"], ...args: unknown[]): Promise<T> {
    worker ??= start();
    const id = ++lastId;
    const to = worker;
    return new Promise<T>((resolve, reject) => {
      pending.set(id, { resolve, reject });
      to.postMessage({ id, method, args } satisfies GatherCall);
    });
  }

  return {
    read: (access, kind) => call("read", access, kind),
    take: (clusterId, from, count) => call("take", clusterId, from, count),
    addresses: (clusterId) => call("addresses", clusterId),
    test: (access) => call("test", access),
    forget: (clusterId) => (worker ? call("forget", clusterId) : Promise.resolve()),
    async close() {
      const ending = worker;
      worker = null;
      for (const { reject } of pending.values()) reject(new ClusterFault("stopped", "Reading was called off."));
      pending.clear();
      await ending?.terminate();
    },
  };
}
