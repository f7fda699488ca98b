import type { RowEdit } from "../protocol/field-merge.ts";
import type { EditResult, UpstreamFeed } from "../protocol/frames.ts";
import { type Collection, defineCollection, type RowBody } from "../storage/transaction-program.ts";

/** What happened to a row of a checkpoint. */
export type RowFate = "made" | "changed" | "deleted" | "refused";

/** Row counts of one resource in a checkpoint. */
export interface Tally extends Record<RowFate, number> {
  /** The rows that have activities of their own, the first ones only. */
  objects?: readonly (readonly [fate: RowFate, id: string])[];
}

export type Tallies = Readonly<Record<string, Tally>>;

/** A complete checkpoint that is being applied in batches. */
export interface ApplyingCheckpoint {
  to: number;
}

/** Sync state of this appliance, a single record. Sequence numbers start at 1; 0 is none. */
export interface SyncState {
  id: "link";
  endpoint: string;
  /** Incarnation of the own feeds; increases with each restore. */
  incarnation: number;
  epoch: string | null;
  /** The cloud's feed is stored up to `received`, and applied up to `applied`. */
  received: number;
  applied: number;
  applyingCheckpoint: ApplyingCheckpoint | null;
  /** Generation of the applied rows; a resync increments it and deletes rows of the old one. */
  snapshotGeneration: number;
  snapshotHead: number | null;
  snapshotAfter: string | null;
  snapshotEnded: number;
  /** Newest command number of this epoch. */
  commandHighWatermark: number;
  bulkSeq: number;
  bulkAcked: number;
  hotSeq: number;
  hotAcked: number;
  /** Results of own edits are known up to this sequence number of the hot feed. */
  decided: number;
  resyncRequested: number;
  /** Upper bound of cloud time and the wall time of that moment, for the next start. */
  cloudTime: number | null;
  cloudTimeWallClock: number | null;
  /** Cloud time of the last digest mismatch. */
  mismatchAt: number | null;
  /** Hash of the resources that this version knows. */
  typesFingerprint: string;
  /** Bytes of all records in the outbox. */
  outboxBytes: number;
  /** Row counts of the checkpoint that is being applied. */
  tallies: Tallies;
  /** Position of a full resend of site state: the next resource and the last row sent; null if there is none. */
  stateResend: { type: string; after: string | null } | null;
}

export const SYNC_STATE: Collection<SyncState> = defineCollection<SyncState>("sync_state", ["id"], {
  id: "text",
  endpoint: "text",
  incarnation: "integer",
  epoch: "text",
  received: "integer",
  applied: "integer",
  applyingCheckpoint: "json",
  snapshotGeneration: "integer",
  snapshotHead: "integer",
  snapshotAfter: "text",
  snapshotEnded: "integer",
  commandHighWatermark: "integer",
  bulkSeq: "integer",
  bulkAcked: "integer",
  hotSeq: "integer",
  hotAcked: "integer",
  decided: "integer",
  resyncRequested: "integer",
  cloudTime: "integer",
  cloudTimeWallClock: "integer",
  mismatchAt: "integer",
  typesFingerprint: "text",
  outboxBytes: "integer",
  tallies: "json",
  stateResend: "json",
});

/** A received row that waits for its checkpoint. `applyOrder`: referenced rows first, deletions last. */
export interface StagedRow {
  type: string;
  id: string;
  seq: number;
  gone: number;
  body: RowBody | null;
  applyOrder: number;
  waits: number;
}

export const STAGED_ROWS: Collection<StagedRow> = defineCollection<StagedRow>(
  "sync_staged_rows",
  ["type", "id"],
  { type: "text", id: "text", seq: "integer", gone: "integer", body: "json", applyOrder: "integer", waits: "integer" },
  { turn: ["applyOrder", "type", "id"] },
);

/** The version of a cloud-owned row that is applied here. */
export interface AppliedVersion {
  type: string;
  id: string;
  seq: number;
  snapshotGeneration: number;
  applyOrder: number;
}

/** Applied versions; the rows themselves are in the product's tables. */
export const APPLIED_VERSIONS: Collection<AppliedVersion> = defineCollection<AppliedVersion>(
  "sync_applied_versions",
  ["type", "id"],
  { type: "text", id: "text", seq: "integer", snapshotGeneration: "integer", applyOrder: "integer" },
  { sweep: ["snapshotGeneration", "applyOrder", "type", "id"] },
);

/** The cloud's version of a row with pending local edits; `body` is null if the cloud has none. */
export interface ShadowRow {
  type: string;
  id: string;
  body: RowBody | null;
}

export const SHADOW_ROWS: Collection<ShadowRow> = defineCollection<ShadowRow>("sync_shadow_rows", ["type", "id"], {
  type: "text",
  id: "text",
  body: "json",
});

/** An outgoing record, kept after acknowledgement. `hollow`: superseded by a newer version of its row. */
export interface OutboxRecord {
  lane: UpstreamFeed;
  sequence: number;
  uid: string;
  op: "p" | "d" | "hollow";
  type: string;
  id: string;
  body: RowBody | null;
  at: number;
  /** 1 for the newest version of its row. */
  isNewest: number;
  bytes: number;
}

export const OUTBOX: Collection<OutboxRecord> = defineCollection<OutboxRecord>(
  "sync_outbox",
  ["lane", "sequence"],
  {
    lane: "text",
    sequence: "integer",
    uid: "text",
    op: "text",
    type: "text",
    id: "text",
    body: "json",
    at: "integer",
    isNewest: "integer",
    bytes: "integer",
  },
  { row: ["lane", "type", "id", "isNewest", "sequence"] },
);

/** Acknowledged positions at the begin of a day of cloud time (days since 1970, UTC). */
export interface AckedPosition {
  day: number;
  bulk: number;
  hot: number;
}

/** Determines which records are old, independently of the own clock. */
export const ACKED_POSITIONS: Collection<AckedPosition> = defineCollection<AckedPosition>(
  "sync_acked_positions",
  ["day"],
  {
    day: "integer",
    bulk: "integer",
    hot: "integer",
  },
);

/** A local edit of a cloud-owned row. */
export interface LocalEditRecord {
  uid: string;
  sequence: number;
  type: string;
  id: string;
  edit: RowEdit;
  state: "pending" | EditResult["result"];
  lost: readonly string[];
  /** Why the cloud refused it; null otherwise. */
  reason: string | null;
  actor: string;
  at: number;
}

export const LOCAL_EDITS: Collection<LocalEditRecord> = defineCollection<LocalEditRecord>(
  "sync_local_edits",
  ["uid"],
  {
    uid: "text",
    sequence: "integer",
    type: "text",
    id: "text",
    edit: "json",
    state: "text",
    lost: "json",
    reason: "text",
    actor: "text",
    at: "integer",
  },
  { row: ["type", "id", "state", "sequence"], open: ["state", "sequence"] },
);

/** A row that could not be written, with the reason. */
export interface RefusedRowRecord {
  type: string;
  id: string;
  seq: number;
  body: RowBody | null;
  reason: string;
}

/** Refused rows; tried again at each checkpoint. */
export const REFUSED_ROWS: Collection<RefusedRowRecord> = defineCollection<RefusedRowRecord>(
  "sync_refused_rows",
  ["type", "id"],
  {
    type: "text",
    id: "text",
    seq: "integer",
    body: "json",
    reason: "text",
  },
);

/** Activities that changed since they were last sent. */
export const CHANGED_ACTIVITIES: Collection<{ id: string }> = defineCollection<{ id: string }>(
  "sync_changed_activities",
  ["id"],
  {
    id: "text",
  },
);
