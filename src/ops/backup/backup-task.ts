import { Worker } from "node:worker_threads";
import { UpstreamError } from "../../lib/errors.ts";
import { workerEntry } from "../../lib/worker-entry.ts";
import type { BackupReport, PackRequest } from "./backup-archive.ts";

/** What the thread is to do: pack a backup, or unpack one into a folder, check it there and remove the folder. */
export type BackupTask = { kind: "pack"; order: PackRequest } | { kind: "verify"; path: string; into: string };

/** What became of it. */
export type BackupTaskResult = { report: BackupReport } | { fault: string };

/** Carries out one task in a thread of its own. Rejects with UpstreamError; an aborted `signal` ends the thread. */
export function runBackupTask(task: BackupTask, signal?: AbortSignal): Promise<BackupReport> {
  const worker = new Worker(workerEntry(import.meta.url, "./backup-worker"));
  return new Promise<BackupReport>((resolve, reject) => {
    const failed = (message: string, cause?: unknown): void =>
      reject(new UpstreamError("upstream", message, {}, cause));
    const onAbort = (): void => void worker.terminate();
    signal?.addEventListener("abort", onAbort, { once: true });
    worker.once("message", (answer: BackupTaskResult) => {
      if ("report" in answer) resolve(answer.report);
      else failed(answer.fault);
      void worker.terminate();
    });
    worker.once("error", (error) => failed(`The backup failed: ${error.message}`, error));
    worker.once("exit", () => {
      signal?.removeEventListener("abort", onAbort);
      failed("The backup was broken off.");
    });
    if (signal?.aborted) onAbort();
    else worker.postMessage(task);
  });
}
