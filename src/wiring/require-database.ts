import { existsSync } from "node:fs";
import { join } from "node:path";
import { UpstreamError } from "../lib/errors.ts";
import { assertDataDirectoryReadable } from "../store/data-directory.ts";
import { completePendingRestore } from "./restore-journal.ts";

/** Throws UpstreamError (about the data directory) if `dataDir` has no database; completes an interrupted restore first. */
export function requireDatabase(dataDir: string): void {
  assertDataDirectoryReadable(dataDir);
  completePendingRestore(dataDir);
  if (!existsSync(join(dataDir, "carillon.db"))) throw notInitializedError(dataDir);
}

/** The error for a data directory that is not initialized. */
export function notInitializedError(dataDir: string): UpstreamError {
  const message = `No appliance found in ${dataDir}. Set it up first: carillon init --data ${dataDir} …`;
  return new UpstreamError("starting", message, { dataDir });
}
