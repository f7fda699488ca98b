import { parentPort } from "node:worker_threads";
import { packBackup, removeFolder, unpackBackup } from "./backup-archive.ts";
import type { BackupTask, BackupTaskResult } from "./backup-task.ts";

/** Entry of the worker thread that packs and verifies backups: both read all data, which takes seconds to minutes. */
async function runTask(task: BackupTask): Promise<BackupTaskResult> {
  try {
    if (task.kind === "pack") return { report: await packBackup(task.order) };
    try {
      return { report: await unpackBackup(task.path, task.into, task.identities) };
    } finally {
      await removeFolder(task.into);
    }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.once("message", (task: BackupTask) => {
  void runTask(task).then((result) => parentPort?.postMessage(result));
});
