import { Worker } from "node:worker_threads";
import { UpstreamError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { workerEntry } from "../../lib/worker-entry.ts";
import type { BackupReport, PackRequest } from "./backup-archive.ts";

/** Task of the thread: pack a backup, or unpack one into a folder, verify it and delete the folder. */
export type BackupTask =
  | { kind: "pack"; order: PackRequest }
  | { kind: "verify"; path: string; into: string; identities: readonly string[] };

export type BackupTaskResult = { report: BackupReport } | { fault: string };

/** Runs one task in a worker thread. Rejects with UpstreamError; aborting `signal` terminates the thread. */
export function runBackupTask(task: BackupTask, signal?: AbortSignal): Promise<BackupReport> {
  const worker = new Worker(workerEntry(import.meta.url, "./backup-worker"));
  return new Promise<BackupReport>((resolve, reject) => {
    const failed = (message: string, cause?: unknown): void =>
      reject(new UpstreamError("upstream", message, {}, cause));
    const onAbort = (): void => void worker.terminate();
    signal?.addEventListener("abort", onAbort, { once: true });
    worker.once("message", (result: BackupTaskResult) => {
      if ("report" in result) resolve(result.report);
      else failed(result.fault);
      void worker.terminate();
    });
    worker.once("error", (error) => failed(sentence("backup.failed", { reason: error.message }), error));
    worker.once("exit", () => {
      signal?.removeEventListener("abort", onAbort);
      failed(sentence("error.the-backup-was-aborted"));
    });
    if (signal?.aborted) onAbort();
    else worker.postMessage(task);
  });
}
