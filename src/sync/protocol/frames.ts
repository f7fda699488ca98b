import type { RowBody } from "../storage/transaction-program.ts";

/** The two feeds of an appliance; `hot` carries outcomes and edits, which must not wait. */
export type UpstreamFeed = "bulk" | "hot";

/** A row on the wire: put or delete, type, id, sequence number in the feed, and for puts the body. */
export type DownstreamRow = readonly [op: "p" | "d", type: string, id: string, seq: number, body?: RowBody];

/** A record of an appliance's feed; `uid` identifies it for ever, also after it gets another sequence number. */
export type UpstreamRow = readonly [op: "p" | "d", type: string, id: string, oseq: number, uid: string, body?: RowBody];

/**
 * Type of the record that ends a full resend of site state: the cloud deletes rows that the incarnation did not send.
 */
export const FULL_STATE_SENT = "state-told";

/** Flow-control window for bulk data in one direction: what may be unacknowledged. */
export interface Credit {
  frames: number;
  bytes: number;
}

/** First frame of a connection: the position of the appliance. */
export interface SyncHello {
  t: "hello";
  /** Protocol version. */
  v: 1;
  endpoint: string;
  /** Incarnation of the appliance's own feeds. */
  inc: number;
  /** Newest sequence number of each own feed. */
  oseq: Readonly<Record<UpstreamFeed, number>>;
  /** Epoch of the cloud's feed that the positions below belong to; null before the first connection. */
  epoch: string | null;
  /** Received (stored) up to this sequence number of the cloud's feed. */
  recv: number;
  /** Applied up to this sequence number. */
  applied: number;
  /** Unfinished snapshot: the head at which it started (`h0`) and the last key received. */
  snap: { h0: number; after: string | null } | null;
  /** Command high watermark: newest command number of this epoch. */
  cmdHw: number;
  /** Sequence number in the hot feed up to which the results of own edits are known. */
  decided: number;
  /** Requests all rows again: digests differed, or the set of known resources changed. */
  fresh: boolean;
  /** Resources that this version knows. */
  types: readonly string[];
  /** Window for the cloud. */
  credit: Credit;
}

/** First frame of the cloud: its position in the feeds of the appliance. */
export interface SyncWelcome {
  t: "welcome";
  /** Session number; fences older connections of the same endpoint. */
  sess: number;
  /** Incarnation of the cloud's feed. */
  epoch: string;
  /** Cloud time, epoch ms. */
  ct: number;
  /** Newest incarnation of the appliance that the cloud knows. */
  inc: number;
  /** For each feed the high watermark (newest sequence number received) and the uid of the record there. */
  up: Readonly<Record<UpstreamFeed, { hw: number; tail: string | null }>>;
  /** Set if a snapshot follows: its head, and the key after which it continues. */
  resync: { h0: number; after: string | null } | null;
  /** Window for the appliance. */
  credit: Credit;
}

/** Longest reason of a result, in characters. */
export const MAX_REASON_LENGTH = 1_000;

/** Decision on one edit. `lost` names the fields in which the cloud kept its value. */
export interface EditResult {
  uid: string;
  result: "merged" | "conflict" | "gone" | "refused";
  lost: readonly string[];
  /** Why it was refused; not set or null otherwise, and by older releases. */
  reason?: string | null | undefined;
}

/** Number of rows of a type, and the sum of their hashes modulo 2^48. */
export interface Digest {
  count: number;
  sum: number;
}

/** Checkpoint: once applied, the appliance equals the cloud at `to`. */
export interface SyncCheckpoint {
  /** Results up to this sequence number were sent before; missing in frames of earlier versions. */
  after?: number;
  /** Results up to this sequence number are included. */
  decided: number;
  results: readonly EditResult[];
  digests?: Readonly<Record<string, Digest>>;
}

/** A page of the cloud's feed; `from` must equal the position of the receiver. */
export interface DownstreamPage {
  t: "rows";
  feed: "down.bulk";
  from: number;
  to: number;
  rows: readonly DownstreamRow[];
  /** Set on the page that reaches the head of the feed. */
  mark?: SyncCheckpoint;
}

/** A page of an appliance's feed; `tail` is the uid of the record at `to`. */
export interface UpstreamPage {
  t: "rows";
  feed: `up.${UpstreamFeed}`;
  from: number;
  to: number;
  tail: string;
  rows: readonly UpstreamRow[];
}

/** A page of a snapshot, ordered by type and id; `h0` is the head at which it started, `after` the last key. */
export interface SnapshotPage {
  t: "snap";
  h0: number;
  from: string | null;
  after: string | null;
  rows: readonly DownstreamRow[];
  end: boolean;
}

/** Remote commands to an appliance, besides broadcasts. @source docs/decisions/0042-api-contract.md */
export const REMOTE_COMMAND_TYPES = [
  "device-sync",
  "phone-cache-rebuild",
  "upgrade",
  "upgrade-all",
  "backup",
  "collect-logs",
  "restart",
  "full-resync",
  "replication-queue-reset",
  "replication-clean-up",
] as const;

export type RemoteCommandType = (typeof REMOTE_COMMAND_TYPES)[number];

/** A file, by its content. */
export interface FileReference {
  /** SHA-256, hex. */
  sha256: string;
  size: number;
}

/** A self-contained instruction to an appliance. @source docs/decisions/0040-replication.md, Section 5 */
export interface SyncCommand {
  /** Command id; the idempotency key. */
  cid: string;
  kind: "broadcast" | "cancel" | RemoteCommandType;
  /** Remote commands are `admin`. */
  class: "emergency" | "routine" | "admin";
  /** Expiry in cloud time, epoch ms: the command must not start later. */
  notAfter: number;
  /** Position among the appliances of the group, 0 first. */
  rank: number;
  /** Term of the lease under which it was issued. */
  term: number;
  /** The command that a cancel refers to. */
  ref: string | null;
  body: RowBody;
  /** Files that the command plays; fetched before all others. */
  needs?: readonly FileReference[];
}

/** Transports a command; `cseq` is its sequence number for the endpoint. */
export interface CommandFrame {
  t: "cmd";
  cseq: number;
  command: SyncCommand;
}

/** Outcome of a command at an appliance; all but `started` are final. */
export type CommandOutcome =
  | "started"
  | "done"
  | "expired"
  | "cancelled"
  | "interrupted"
  | "failed"
  | "skipped"
  | "unknown";

/** All frames. Unknown members and frames of unknown type are ignored. */
export type Frame =
  | SyncHello
  | SyncWelcome
  | DownstreamPage
  | UpstreamPage
  | SnapshotPage
  | CommandFrame
  | { t: "heard"; cid: string }
  | { t: "ack"; feed: "down.bulk" | `up.${UpstreamFeed}`; to: number }
  | { t: "ping"; t0: number; groups: readonly string[] }
  | { t: "pong"; t0: number; ct: number; head: number; leases: readonly Lease[] }
  | { t: "digest"; applied: number; type: string; buckets: readonly Digest[] }
  | { t: "repair"; at: number; type: string; buckets: readonly number[]; rows: readonly DownstreamRow[] }
  | { t: "need"; sha256: string; from: number }
  | FileChunk
  | { t: "err"; code: CloseCode; reason?: string };

/** Why a side closed the connection: out of sequence, replaced, restored copy, refused, or malformed frame. */
export type CloseCode = "gap" | "fenced" | "restored" | "refused" | "schema";

/** A part of a requested file. */
export interface FileChunk {
  t: "chunk";
  sha256: string;
  /** Offset in bytes. */
  at: number;
  /** Base64; null if the file is unknown. */
  data: string | null;
  /** Last chunk of this request. */
  last: boolean;
}

/** The active appliance of a group. A higher term invalidates all lower ones. */
export interface Lease {
  group: string;
  holder: string;
  term: number;
  ttlMs: number;
}

/** Limits of pages and windows. @source docs/decisions/0040-replication.md, Section 3 */
export interface SyncLimits {
  pageRows: number;
  pageBytes: number;
  /** Window that this side grants the other. */
  credit: Credit;
  /** Rows applied per batch; batches share a transaction until it has taken `applyBatchMs`. */
  applyBatchRows: number;
  applyBatchMs: number;
  /** Bytes of a file per frame, and frames per request. */
  fileChunkBytes: number;
  fileChunksPerRequest: number;
}

/** @source docs/decisions/0040-replication.md, Section 3, and docs/decisions/0300-sync-limits.md */
export const SYNC_LIMITS: SyncLimits = {
  pageRows: 200,
  pageBytes: 64 * 1024,
  credit: { frames: 20, bytes: 1280 * 1024 },
  applyBatchRows: 200,
  applyBatchMs: 0,
  fileChunkBytes: 48 * 1024,
  fileChunksPerRequest: 8,
};

/** One end of a connection: ordered and without gaps until it closes. */
export interface FrameTransport {
  send(frame: Frame): void;
  close(code: string): void;
}
