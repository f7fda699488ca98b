import { Worker } from "node:worker_threads";
import { sentence } from "../lib/sentences/sentences.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import { ClusterError } from "./cluster-error.ts";
import type { ClusterReader, ClusterReaderDeps } from "./cluster-reader.ts";
import type { ClusterReaderCall, ClusterReaderReply, ClusterReaderSettings } from "./cluster-reader-messages.ts";

/** Heap limit of the thread: some 20,000 phones and one response of a cluster take 60 MB. @source docs/decisions/0205-call-manager.md, Reading */
const MEMORY_MB = 384;

interface PendingCall {
  resolve(value: never): void;
  reject(error: Error): void;
}

/**
 * Reads clusters in a worker thread, which starts with the first call and runs until `close`. If the thread exits, pending
 * calls fail with ClusterError `stopped`; the next call starts a new thread.
 */
export function createClusterReaderThread(
  settings: ClusterReaderSettings,
  onProgress: ClusterReaderDeps["onProgress"],
): ClusterReader {
  let worker: Worker | null = null;
  let lastId = 0;
  const pending = new Map<number, PendingCall>();

  function start(): Worker {
    const limits = { resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB } };
    const started = new Worker(workerEntry(import.meta.url, "./cluster-reader-worker"), {
      workerData: settings,
      ...limits,
    });
    started.on("message", handleReply);
    const end = (message: string): void => {
      if (worker !== started) return;
      worker = null;
      for (const { reject } of pending.values()) reject(new ClusterError("stopped", message));
      pending.clear();
    };
    started.on("error", (error) => end(sentence("cluster.thread", { reason: error.message })));
    started.on("exit", () => end(sentence("cluster.reader-exited")));
    return started;
  }

  function handleReply(reply: ClusterReaderReply): void {
    if ("clusterId" in reply) {
      onProgress(reply.clusterId, reply.progress);
      return;
    }
    const call = pending.get(reply.id);
    pending.delete(reply.id);
    if ("fault" in reply) call?.reject(new ClusterError(reply.fault.code, reply.fault.message));
    else call?.resolve(reply.value as never);
  }

  function callWorker<T>(method: ClusterReaderCall["method"], ...args: unknown[]): Promise<T> {
    worker ??= start();
    const id = ++lastId;
    const to = worker;
    return new Promise<T>((resolve, reject) => {
      pending.set(id, { resolve, reject });
      to.postMessage({ id, method, args } satisfies ClusterReaderCall);
    });
  }

  return {
    read: (access, kind) => callWorker("read", access, kind),
    take: (clusterId, from, count) => callWorker("take", clusterId, from, count),
    addresses: (clusterId) => callWorker("addresses", clusterId),
    testConnection: (access) => callWorker("testConnection", access),
    discard: (clusterId) => (worker ? callWorker("discard", clusterId) : Promise.resolve()),
    async close() {
      const ending = worker;
      worker = null;
      for (const { reject } of pending.values()) reject(new ClusterError("stopped", sentence("cluster.cancelled")));
      pending.clear();
      await ending?.terminate();
    },
  };
}
