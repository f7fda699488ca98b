import type { RowEdit } from "../protocol/field-merge.ts";
import type { CommandOutcome, EditResult, SyncCommand } from "../protocol/frames.ts";
import { type Collection, defineCollection, type RowBody } from "../storage/transaction-program.ts";

/** The cloud's feed of one tenant; there is one record. */
export interface FeedHead {
  id: "head";
  /** Another one after each restore of the cloud's database. */
  epoch: string;
  /** When the epoch began, if not with the feed; epoch ms. */
  since: number;
  seq: number;
  /** Below this, deletions are forgotten: who stands lower needs all rows anew. */
  floor: number;
}

/** Where the feed stands. */
export const FEED_HEAD: Collection<FeedHead> = defineCollection<FeedHead>("hub_head", ["id"], {
  id: "text",
  epoch: "text",
  since: "integer",
  seq: "integer",
  floor: "integer",
});

/** The newest version of a cloud-owned row, or the tombstone of a deleted one. */
export interface FeedRecord {
  type: string;
  id: string;
  seq: number;
  gone: number;
  /** The part of the organisation that it belongs to, null for all. */
  scope: string | null;
  /** Where it belonged before: those who hold these alone must drop it. */
  past: readonly string[];
  body: RowBody | null;
  at: number;
}

/** All rows by type and id, and by their place in the feed. */
export const FEED_RECORDS: Collection<FeedRecord> = defineCollection<FeedRecord>(
  "hub_row",
  ["type", "id"],
  {
    type: "text",
    id: "text",
    seq: "integer",
    gone: "integer",
    scope: "text",
    past: "json",
    body: "json",
    at: "integer",
  },
  { feed: ["seq"], live: ["type", "gone", "id"], tombs: ["gone", "seq"] },
);

/** What the cloud knows of an appliance's link. */
export interface LinkRecord {
  endpoint: string;
  /** Number of the newest connection; older ones may write nothing more. */
  sess: number;
  inc: number;
  bulkHw: number;
  bulkTail: string | null;
  hotHw: number;
  hotTail: string | null;
  applied: number;
  seen: number;
  /** Parts of the organisation whose rows it gets beside those of all; null for every one. */
  scopes: readonly string[] | null;
  /** How often those were changed: each time all rows are to come anew. */
  given: number;
  /** Deletions above this are kept for a snapshot that is under way, until then. */
  hold: number | null;
  holdUntil: number | null;
}

/** The appliances' links. */
export const LINK_RECORDS: Collection<LinkRecord> = defineCollection<LinkRecord>("hub_link", ["endpoint"], {
  endpoint: "text",
  sess: "integer",
  inc: "integer",
  bulkHw: "integer",
  bulkTail: "text",
  hotHw: "integer",
  hotTail: "text",
  applied: "integer",
  seen: "integer",
  scopes: "json",
  given: "integer",
  hold: "integer",
  holdUntil: "integer",
});

/** An appliance that may bring users and rights along: the first of its organisation. */
export interface Adoption {
  endpoint: string;
  /** Number in its hot feed up to which it does; null before its first connection. */
  upTo: number | null;
}

/** Adoptions that are not over. */
export const ADOPTIONS: Collection<Adoption> = defineCollection<Adoption>("hub_adoption", ["endpoint"], {
  endpoint: "text",
  upTo: "integer",
});

/** A command for one appliance. */
export interface IssuedCommand {
  endpoint: string;
  cseq: number;
  cid: string;
  command: SyncCommand;
  /** 1 while nothing final is known. */
  open: number;
  /** The incarnation that it was sent to last, noted before it was sent. */
  sentInc: number | null;
  outcome: CommandOutcome | null;
  /** Who said so: what the appliance says stands above what the cloud concludes. */
  saidBy: "hub" | "site" | null;
  at: number;
}

/** Commands and what became of them, by appliance. */
export const ISSUED_COMMANDS: Collection<IssuedCommand> = defineCollection<IssuedCommand>(
  "hub_command",
  ["endpoint", "cseq"],
  {
    endpoint: "text",
    cseq: "integer",
    cid: "text",
    command: "json",
    open: "integer",
    sentInc: "integer",
    outcome: "text",
    saidBy: "text",
    at: "integer",
  },
  { open: ["endpoint", "open", "cseq"], cid: ["cid", "endpoint"] },
);

/** An edit that was decided. */
export interface DecidedEdit extends EditResult {
  endpoint: string;
  inc: number;
  oseq: number;
  at: number;
}

/** Decisions by the number that the edit had, and by its name, as it may come again under another number. */
export const DECIDED_EDITS: Collection<DecidedEdit> = defineCollection<DecidedEdit>(
  "hub_decided",
  ["endpoint", "inc", "oseq"],
  { endpoint: "text", inc: "integer", oseq: "integer", uid: "text", result: "text", lost: "json", at: "integer" },
  { uid: ["uid", "inc"] },
);

/** An edit that lost, kept to be shown. */
export interface EditConflict {
  uid: string;
  type: string;
  id: string;
  endpoint: string;
  edit: RowEdit;
  lost: readonly string[];
  actor: string;
  at: number;
}

/** Conflicts, newest last. */
export const EDIT_CONFLICTS: Collection<EditConflict> = defineCollection<EditConflict>("hub_conflict", ["uid"], {
  uid: "text",
  type: "text",
  id: "text",
  endpoint: "text",
  edit: "json",
  lost: "json",
  actor: "text",
  at: "integer",
});

/** A row that an appliance observed or holds; facts come once, state is replaced. */
export interface SiteRecord {
  type: string;
  id: string;
  endpoint: string;
  /** The newest record of it. */
  uid: string;
  /** The appliance's incarnation that told it last. */
  inc: number;
}

/** Rows of the appliances; they themselves lie in the product's tables. */
export const SITE_RECORDS: Collection<SiteRecord> = defineCollection<SiteRecord>(
  "hub_site_row",
  ["type", "id"],
  { type: "text", id: "text", endpoint: "text", uid: "text", inc: "integer" },
  { site: ["endpoint", "type", "id"] },
);

/** A row of an appliance that could not be written here, and why. */
export interface WaitingRow {
  type: string;
  id: string;
  body: RowBody | null;
  reason: string;
  /** When it came. */
  at: number;
}

/** Rows of appliances that wait for what they refer to. */
export const WAITING_ROWS: Collection<WaitingRow> = defineCollection<WaitingRow>(
  "hub_waiting",
  ["type", "id"],
  { type: "text", id: "text", body: "json", reason: "text", at: "integer" },
  { age: ["at", "type", "id"] },
);

/** Count and sum of the live rows of a type in one part of the organisation (`""` for rows of all). */
export interface ScopeDigest {
  type: string;
  scope: string;
  count: number;
  sum: number;
}

/** Digests, kept up with each write. */
export const SCOPE_DIGESTS: Collection<ScopeDigest> = defineCollection<ScopeDigest>("hub_digest", ["type", "scope"], {
  type: "text",
  scope: "text",
  count: "integer",
  sum: "integer",
});

/** Who has a name that no two rows of a type share, lower case. */
export interface UniqueName {
  type: string;
  name: string;
  id: string;
}

/** Names that are taken. */
export const UNIQUE_NAMES: Collection<UniqueName> = defineCollection<UniqueName>("hub_name", ["type", "name"], {
  type: "text",
  name: "text",
  id: "text",
});

/** Which appliance of a group is active. */
export interface GroupLease {
  group: string;
  holder: string;
  term: number;
  until: number;
}

/** Leases by group. */
export const GROUP_LEASES: Collection<GroupLease> = defineCollection<GroupLease>("hub_lease", ["group"], {
  group: "text",
  holder: "text",
  term: "integer",
  until: "integer",
});
