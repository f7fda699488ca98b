import type { Digest } from "../protocol/frames.ts";
import {
  type Collection,
  defineCollection,
  deleteRecord,
  getRecord,
  type TransactionProgram,
} from "../storage/transaction-program.ts";

/** A row that this appliance had when its first sync began, and that must not be lost by it. */
export interface InitialSyncRow {
  type: string;
  id: string;
}

/** Kept until the first sync is proven. */
export const INITIAL_SYNC_ROWS: Collection<InitialSyncRow> = defineCollection<InitialSyncRow>(
  "sync_initial_rows",
  ["type", "id"],
  { type: "text", id: "text" },
);

/** Rows of one type before and after the first sync. */
export interface InitialSyncType {
  type: string;
  /** Rows of this appliance before, and a digest of their ids. */
  before: Digest;
  /** Rows of the cloud before; null if it did not say. */
  cloudBefore: Digest | null;
  /** Rows of both sides when they were compared last; null before. */
  here: Digest | null;
  cloud: Digest | null;
  isEqual: boolean;
}

/**
 * A row that the two sides do not have alike. `only-here`: the cloud does not have it; `only-cloud`: it is missing here;
 * `unequal`: the named fields differ; `lost`: this appliance had it before.
 */
export interface InitialSyncDifference {
  type: string;
  id: string;
  name: string | null;
  kind: "only-here" | "only-cloud" | "unequal" | "lost";
  fields: readonly string[];
  /** Why, if that is known. */
  reason: string | null;
}

/** Result of the first sync. `accepted`: an administrator ended it although rows differ. Times are epoch ms. */
export interface InitialSyncReport {
  mode: "adopt" | "join";
  state: "running" | "differs" | "complete" | "accepted";
  startedAt: number;
  checkedAt: number | null;
  finishedAt: number | null;
  /** What it waits for while it runs; null if that is not known. */
  waitsFor: string | null;
  /** Types with rows on either side. */
  types: readonly InitialSyncType[];
  /** The first rows that differ, and how many more there are. */
  differences: readonly InitialSyncDifference[];
  more: number;
}

interface InitialSyncRecord {
  id: "report";
  /** 1 until it is proven or accepted. */
  isOpen: number;
  report: InitialSyncReport;
}

export const INITIAL_SYNC_REPORT: Collection<InitialSyncRecord> = defineCollection<InitialSyncRecord>(
  "sync_initial_report",
  ["id"],
  { id: "text", isOpen: "integer", report: "json" },
);

/** The report; null on an appliance that was linked by an earlier release. */
export function* readInitialSyncReport(): TransactionProgram<InitialSyncReport | null> {
  return (yield* getRecord(INITIAL_SYNC_REPORT, "report"))?.report ?? null;
}

/** Whether the row must stay here because the first sync has not proven that the cloud has it. */
export function* isHeldByInitialSync(type: string, id: string): TransactionProgram<boolean> {
  return (yield* getRecord(INITIAL_SYNC_ROWS, type, id)) !== null;
}

/** Somebody deleted the row, here or in the cloud: it is not lost. */
export function* releaseFromInitialSync(type: string, id: string): TransactionProgram<void> {
  yield* deleteRecord(INITIAL_SYNC_ROWS, type, id);
}
