import type { RowBody } from "../storage/transaction-program.ts";

/** The two feeds that go up; the hot one has what must not wait: outcomes and edits. */
export type UpstreamFeed = "bulk" | "hot";

/** A row on the wire: put or delete, its type, id and number in the feed; `body` for puts alone. */
export type DownstreamRow = readonly [op: "p" | "d", type: string, id: string, seq: number, body?: RowBody];

/** A record that goes up; `uid` names it for good, whatever its number. */
export type UpstreamRow = readonly [op: "p" | "d", type: string, id: string, oseq: number, uid: string, body?: RowBody];

/** Type of the record after which state of an appliance that was not told in its incarnation is gone in the cloud. */
export const FULL_STATE_SENT = "state-told";

/** What may be on its way in one direction of bulk data before some of it is acknowledged. */
export interface Credit {
  frames: number;
  bytes: number;
}

/** Where the appliance stands; the first frame of a connection. */
export interface SyncHello {
  t: "hello";
  v: 1;
  endpoint: string;
  /** Which incarnation of the appliance's own feeds this is. */
  inc: number;
  /** The newest number of each own feed. */
  oseq: Readonly<Record<UpstreamFeed, number>>;
  epoch: string | null;
  recv: number;
  applied: number;
  /** A snapshot that is under way. */
  snap: { h0: number; after: string | null } | null;
  cmdHw: number;
  /** Number in the hot feed up to which the results of own edits are known. */
  decided: number;
  /** All rows anew: digests differed, or the resources are other ones than before. */
  fresh: boolean;
  /** Names of the resources that this version knows. */
  types: readonly string[];
  /** What the cloud may send before an `ack`. */
  credit: Credit;
}

/** What the cloud has of the appliance; the first frame down. */
export interface SyncWelcome {
  t: "welcome";
  /** Fences older connections of the same endpoint. */
  sess: number;
  epoch: string;
  /** Cloud time, epoch ms. */
  ct: number;
  inc: number;
  up: Readonly<Record<UpstreamFeed, { hw: number; tail: string | null }>>;
  resync: { h0: number; after: string | null } | null;
  /** What the appliance may send before an `ack`. */
  credit: Credit;
}

/** What was decided of one edit. `lost` are the fields in which the cloud's value stayed. */
export interface EditResult {
  uid: string;
  result: "merged" | "conflict" | "gone" | "refused";
  lost: readonly string[];
}

/** Count and sum of the hashes of the rows of a type. */
export interface Digest {
  count: number;
  sum: number;
}

/** What makes the appliance equal to the cloud at `to`. */
export interface SyncCheckpoint {
  /** Results up to here were told before; unknown to earlier versions. */
  after?: number;
  decided: number;
  results: readonly EditResult[];
  digests?: Readonly<Record<string, Digest>>;
}

/** A page of the feed that goes down; `from` must be where the receiver stands. */
export interface DownstreamPage {
  t: "rows";
  feed: "down.bulk";
  from: number;
  to: number;
  rows: readonly DownstreamRow[];
  mark?: SyncCheckpoint;
}

/** A page of a feed that goes up; `tail` is the uid of the record at `to`. */
export interface UpstreamPage {
  t: "rows";
  feed: `up.${UpstreamFeed}`;
  from: number;
  to: number;
  tail: string;
  rows: readonly UpstreamRow[];
}

/** A page of a snapshot, in the order of type and id; `after` is the last key. */
export interface SnapshotPage {
  t: "snap";
  h0: number;
  from: string | null;
  after: string | null;
  rows: readonly DownstreamRow[];
  end: boolean;
}

/** What an appliance can be told to do, beside sounding something. @source service-api.md, endpoint activities */
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

/** One of them. */
export type RemoteCommandType = (typeof REMOTE_COMMAND_TYPES)[number];

/** A file by its content. */
export interface FileReference {
  /** SHA-256, hex. */
  sha256: string;
  size: number;
}

/** What is to be done when nobody is there to say it again. @source replication.md 5 */
export interface SyncCommand {
  cid: string;
  kind: "broadcast" | "cancel" | RemoteCommandType;
  /** Orders are `admin`. */
  class: "emergency" | "routine" | "admin";
  /** Cloud time after which it must not begin, epoch ms. */
  notAfter: number;
  /** Place in the order of the group's appliances, 0 first. */
  rank: number;
  term: number;
  /** The command that a cancel takes back. */
  ref: string | null;
  body: RowBody;
  /** Files that it sounds, which are fetched before all others. */
  needs?: readonly FileReference[];
}

/** A command on its way. */
export interface CommandFrame {
  t: "cmd";
  cseq: number;
  command: SyncCommand;
}

/** What became of a command at an appliance; `started` is no end. */
export type CommandOutcome =
  | "started"
  | "done"
  | "expired"
  | "cancelled"
  | "interrupted"
  | "failed"
  | "skipped"
  | "unknown";

/** All that travels. Unknown members are ignored, and so are frames of an unknown `t`. */
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

/** Why a side closed the connection. */
export type CloseCode = "gap" | "fenced" | "restored" | "refused" | "schema";

/** Bytes of a file, as asked for. */
export interface FileChunk {
  t: "chunk";
  sha256: string;
  at: number;
  /** Base64; null where the file is not known. */
  data: string | null;
  /** Nothing more follows until it is asked for. */
  last: boolean;
}

/** Who of a group's appliances is active. A higher term makes all lower ones void. */
export interface Lease {
  group: string;
  holder: string;
  term: number;
  ttlMs: number;
}

/** Limits of pages and windows. @source replication.md 3: pages of 200 rows or 64 KiB */
export interface SyncLimits {
  pageRows: number;
  pageBytes: number;
  /** What this side takes before it acknowledges. */
  credit: Credit;
  /** Rows applied in one transaction, and again as many while that has taken less than `sliceMs`. */
  applyBatchRows: number;
  applyBatchMs: number;
  /** Bytes of a file in one frame, and frames that answer one request. */
  fileChunkBytes: number;
  fileChunksPerRequest: number;
}

/**
 * The limits of the product.
 * @source replication.md 3 and amendments; own choice: files by 48 KiB, which are 64 KiB as base64; of rows of 1 KB a
 * frame holds 53, and 1,000 of them are to be on their way
 */
export const SYNC_LIMITS: SyncLimits = {
  pageRows: 200,
  pageBytes: 64 * 1024,
  credit: { frames: 20, bytes: 1280 * 1024 },
  applyBatchRows: 200,
  applyBatchMs: 0,
  fileChunkBytes: 48 * 1024,
  fileChunksPerRequest: 8,
};

/** One end of a connection, in order and without gaps until it is closed. */
export interface FrameTransport {
  send(frame: Frame): void;
  close(code: string): void;
}
