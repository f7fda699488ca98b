import { Worker } from "node:worker_threads";
import type { Timetable } from "../../bells/timetables.ts";
import { CallerError } from "../../lib/errors.ts";
import { workerEntry } from "../../lib/worker-entry.ts";
import type { BellCertificate } from "./simulation.ts";

/** Work of one worker: every `parts`th schedule, starting at `part`, each with the same disruptions. */
export interface SimulationShare {
  fixture: { count: number; year: number; seed: number } | null;
  timetables: readonly Timetable[];
  part: number;
  parts: number;
  fromMs: number;
  toMs: number;
  seed: number;
  restarts: number;
  steps: number;
  suspends: number;
}

/** Simulates a share in a separate thread. Rejects when the thread fails. */
export function runShare(share: SimulationShare): Promise<BellCertificate> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(workerEntry(import.meta.url, "./certify-worker"), { workerData: share });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (code) =>
      reject(new CallerError("invalid-value", `The simulation worker exited with code ${code}.`)),
    );
  });
}
