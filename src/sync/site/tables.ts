import type { RowEdit } from "../protocol/field-merge.ts";
import type { EditResult, UpstreamFeed } from "../protocol/frames.ts";
import { type Collection, defineCollection, type RowBody } from "../storage/transaction-program.ts";

/** What became of the rows of one resource at a mark. */
export interface Tally {
  made: number;
  changed: number;
  deleted: number;
  refused: number;
}

/** Tallies by resource. */
export type Tallies = Readonly<Record<string, Tally>>;

/** A mark that arrived and is being applied, slice by slice. */
export interface ApplyingCheckpoint {
  to: number;
}

/** Where this appliance stands; there is one record. Numbers begin at 0, which stands for nothing. */
export interface SyncState {
  id: "link";
  endpoint: string;
  /** Incarnation of the own feeds: one more after each restore. */
  incarnation: number;
  epoch: string | null;
  /** Up to where the cloud's feed is stored, and up to where it is applied. */
  received: number;
  applied: number;
  applyingCheckpoint: ApplyingCheckpoint | null;
  /** Rows of this generation are there for good; a resync makes them one newer. */
  snapshotGeneration: number;
  snapshotHead: number | null;
  snapshotAfter: string | null;
  snapshotEnded: number;
  /** Newest command of this epoch. */
  commandHighWatermark: number;
  bulkSeq: number;
  bulkAcked: number;
  hotSeq: number;
  hotAcked: number;
  /** Up to where the results of own edits are known, in numbers of the hot feed. */
  decided: number;
  resyncRequested: number;
  /** Cloud time at most, and wall time of that moment, for the time after a start. */
  cloudTime: number | null;
  cloudTimeWallClock: number | null;
  /** Cloud time of the last digest that differed. */
  mismatchAt: number | null;
  /** Hash of the resources that this version knows. */
  typesFingerprint: string;
  /** Bytes of all records that are kept to go up. */
  outboxBytes: number;
  /** What became of the rows of the mark that is being applied. */
  tallies: Tallies;
  /** Own state that is being told anew, as a whole: the next resource and the last row of it. */
  stateResend: { type: string; after: string | null } | null;
}

/** The one record of where this appliance stands. */
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

/** A row that came and waits for its mark. `rank` says when its turn is: first what others refer to, removals last. */
export interface StagedRow {
  type: string;
  id: string;
  seq: number;
  gone: number;
  body: RowBody | null;
  applyOrder: number;
  waits: number;
}

/** What came and is not to be seen before its mark. */
export const STAGED_ROWS: Collection<StagedRow> = defineCollection<StagedRow>(
  "sync_staged_rows",
  ["type", "id"],
  { type: "text", id: "text", seq: "integer", gone: "integer", body: "json", applyOrder: "integer", waits: "integer" },
  { turn: ["applyOrder", "type", "id"] },
);

/** Which version of a cloud-owned row is applied here. */
export interface AppliedVersion {
  type: string;
  id: string;
  seq: number;
  snapshotGeneration: number;
  applyOrder: number;
}

/** The applied versions; the rows themselves lie in the product's tables. */
export const APPLIED_VERSIONS: Collection<AppliedVersion> = defineCollection<AppliedVersion>(
  "sync_applied_versions",
  ["type", "id"],
  { type: "text", id: "text", seq: "integer", snapshotGeneration: "integer", applyOrder: "integer" },
  { sweep: ["snapshotGeneration", "applyOrder", "type", "id"] },
);

/** The cloud's version of a row that is shown with own edits on top; `body` is null where the cloud has none. */
export interface ShadowRow {
  type: string;
  id: string;
  body: RowBody | null;
}

/** Rows with own edits that the cloud has not decided, as the cloud has them. */
export const SHADOW_ROWS: Collection<ShadowRow> = defineCollection<ShadowRow>("sync_shadow_rows", ["type", "id"], {
  type: "text",
  id: "text",
  body: "json",
});

/** A record on its way up, kept for a while after it arrived. A hollow one was overtaken by a newer version of its row. */
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

/** What goes up, in order. */
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

/** Up to where the own feeds had arrived when a day of the cloud (days since 1970, UTC) was first seen. */
export interface AckedPosition {
  day: number;
  bulk: number;
  hot: number;
}

/** By these it is known what arrived long ago, whatever the own clock said meanwhile. */
export const ACKED_POSITIONS: Collection<AckedPosition> = defineCollection<AckedPosition>(
  "sync_acked_positions",
  ["day"],
  {
    day: "integer",
    bulk: "integer",
    hot: "integer",
  },
);

/** An edit of a cloud-owned row that was made here. */
export interface LocalEditRecord {
  uid: string;
  sequence: number;
  type: string;
  id: string;
  edit: RowEdit;
  state: "pending" | EditResult["result"];
  lost: readonly string[];
  actor: string;
  at: number;
}

/** Own edits, kept with their results. */
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
    actor: "text",
    at: "integer",
  },
  { row: ["type", "id", "state", "sequence"], open: ["state", "sequence"] },
);

/** A row that could not be written, and why. */
export interface RefusedRowRecord {
  type: string;
  id: string;
  seq: number;
  body: RowBody | null;
  reason: string;
}

/** Rows that were refused here; they are tried again with each mark. */
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
