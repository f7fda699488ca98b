import type { Clock } from "../lib/clock.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import type loadRuns from "../resources/loads/load-runs.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, StagedBatch, Store, Transaction } from "../store/store.ts";
import type { ZoneDataOptions } from "../time-zones/zone-data.ts";
import { MAX_MESSAGES_KEPT } from "./load-limits.ts";
import type { SourceFile, SourceMessage } from "./load-source.ts";
import type { LoadStep } from "./load-steps.ts";
import type { LoadDefinition } from "./source-files.ts";

export type LoadRun = RowOf<typeof loadRuns>;

export interface LoadRunDeps {
  store: Store;
  clock: Clock;
  /** Time zone of the appliance, in which the days of rosters are meant. */
  ownZone(): string;
  /** Where the time zone data are. */
  zoneFolders: ZoneDataOptions;
  /** Folder that contains the paths of definitions. */
  loadsDir: string;
  /** Where the URLs of services may lead. */
  ssrfGuard: SsrfGuard;
  /** Actor that updates the run's own row. */
  system: ActorContext;
  signal: AbortSignal;
}

/** Longest transaction. @source docs/decisions/0017-store.md */
const TRANSACTION_MS = 4;

/** Counts of a run that changes nothing. */
export const NOTHING_DONE = {
  ...{ usersCreated: 0, usersChanged: 0, usersRemoved: 0, listsCreated: 0, listsRemoved: 0 },
  ...{ subscriptionsCreated: 0, subscriptionsRemoved: 0 },
};

export type LoadCounts = typeof NOTHING_DONE & Pick<LoadRun, "peopleRead" | "linesRead" | "linesWithErrors">;

/** State of one run while it is planned. */
export interface LoadContext {
  deps: LoadRunDeps;
  definition: LoadDefinition;
  run: LoadRun;
  by: ActorContext;
  batch: StagedBatch;
  counts: LoadCounts;
  errors: SourceMessage[];
  /** Parts of the source that were ignored. */
  warnings: SourceMessage[];
  files: SourceFile[];
  /** Changes of existing rows, applied once the new rows are visible. */
  steps: LoadStep[];
  progress: LoadProgress;
}

/** Reports how far a run is. */
export type LoadProgress = (phase: NonNullable<LoadRun["phase"]>, done: number, total: number) => Promise<void>;

/** Adds an error; lines with errors count against the threshold of the source. */
export function addError({ counts, errors }: LoadContext, message: SourceMessage): void {
  if (message.line > 0) counts.linesWithErrors++;
  if (errors.length < MAX_MESSAGES_KEPT) errors.push(message);
}

export function addWarning({ warnings }: LoadContext, message: SourceMessage): void {
  if (warnings.length < MAX_MESSAGES_KEPT) warnings.push(message);
}

/** Adds an error that `work` throws because of its line; others are thrown. */
export function collectError(
  loading: LoadContext,
  { file, line }: Pick<SourceMessage, "file" | "line">,
  work: () => void,
): void {
  try {
    work();
  } catch (error) {
    const { type, faults } = error as { type?: string; faults?: readonly { field: string | null }[] };
    if (type === undefined || type === "bug") throw error;
    addError(loading, { file, line, column: faults?.[0]?.field ?? null, message: (error as Error).message });
  }
}

/** Calls `handle` for each item in short transactions of the batch. */
export async function inChunks<T>(
  { batch, deps }: LoadContext,
  items: readonly T[],
  handle: (tx: Transaction, item: T) => void,
  onDone?: (done: number) => Promise<void>,
) {
  const { clock, signal } = deps;
  for (let at = 0; at < items.length; ) {
    signal.throwIfAborted();
    const from = at;
    at = await batch.write((tx) => {
      const began = clock.monotonicMs();
      let next = from;
      while (next < items.length && clock.monotonicMs() - began < TRANSACTION_MS) handle(tx, items[next++] as T);
      return next;
    });
    await onDone?.(at);
  }
}
