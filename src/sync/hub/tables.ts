import type { RowEdit } from "../protocol/field-merge.ts";
import type { EditRecord } from "../protocol/frame-schemas.ts";
import type { CommandOutcome, EditResult, SyncCommand } from "../protocol/frames.ts";
import { type Collection, defineCollection, type RowBody } from "../storage/transaction-program.ts";

/** Head of the cloud's feed of one tenant, a single record. */
export interface FeedHead {
  id: "head";
  /** Changes with each restore of the cloud's database. */
  epoch: string;
  /** Start of the epoch, 0 for the first one; epoch ms. */
  since: number;
  seq: number;
  /** Tombstones below this were deleted: appliances with a lower position need a full resync. */
  floor: number;
}

export const FEED_HEAD: Collection<FeedHead> = defineCollection<FeedHead>("hub_head", ["id"], {
  id: "text",
  epoch: "text",
  since: "integer",
  seq: "integer",
  floor: "integer",
});

/** The newest version of a cloud-owned row, or its tombstone. */
export interface FeedRecord {
  type: string;
  id: string;
  seq: number;
  gone: number;
  /** The scope that it belongs to (`row-scopes.ts`), null for the whole organisation. */
  scope: string | null;
  /** Earlier scopes: appliances that have only these must delete the row. */
  past: readonly string[];
  body: RowBody | null;
  at: number;
}

/** Indexed by type and id, and by sequence number. */
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

/** The cloud's state of an appliance's link. */
export interface LinkRecord {
  endpoint: string;
  /** Session number of the newest connection; older ones must not write. */
  sess: number;
  inc: number;
  bulkHw: number;
  bulkTail: string | null;
  hotHw: number;
  hotTail: string | null;
  applied: number;
  seen: number;
  /** Scopes whose rows it gets besides those of the whole organisation; null for all. */
  scopes: readonly string[] | null;
  /** Number of scope changes; each requires a full resync. */
  given: number;
  /** Tombstones above this are kept for an unfinished snapshot, until `holdUntil`. */
  hold: number | null;
  holdUntil: number | null;
}

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

/** An appliance that may bring users and permissions into the organisation: its first one. */
export interface Adoption {
  endpoint: string;
  /** Last sequence number of its hot feed that is covered; null before its first connection. */
  upTo: number | null;
}

/** Pending adoptions. */
export const ADOPTIONS: Collection<Adoption> = defineCollection<Adoption>("hub_adoption", ["endpoint"], {
  endpoint: "text",
  upTo: "integer",
});

/** A user or permission that an appliance brought when it adopted the organisation, and that was refused: it may send it again. */
export interface RefusedAdoption {
  endpoint: string;
  type: string;
  id: string;
  /** When it was refused last; epoch ms. */
  at: number;
}

export const REFUSED_ADOPTIONS: Collection<RefusedAdoption> = defineCollection<RefusedAdoption>(
  "hub_refused_adoption",
  ["endpoint", "type", "id"],
  { endpoint: "text", type: "text", id: "text", at: "integer" },
);

/** The domains that an appliance is bound to. Without a record it is bound to the whole organisation. */
export interface ApplianceDomains {
  endpoint: string;
  /** Ids of the topmost domains. */
  domainIds: readonly string[];
}

export const APPLIANCE_DOMAINS: Collection<ApplianceDomains> = defineCollection<ApplianceDomains>(
  "hub_appliance_domains",
  ["endpoint"],
  { endpoint: "text", domainIds: "json" },
);

/** A command for one appliance. */
export interface IssuedCommand {
  endpoint: string;
  cseq: number;
  cid: string;
  command: SyncCommand;
  /** 1 until it has a final outcome. */
  open: number;
  /** Incarnation that it was last sent to; recorded before sending. */
  sentInc: number | null;
  outcome: CommandOutcome | null;
  /** Source of the outcome: a report of the site overrides what the hub concluded. */
  saidBy: "hub" | "site" | null;
  at: number;
}

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

/** A decided edit. */
export interface DecidedEdit extends EditResult {
  endpoint: string;
  inc: number;
  oseq: number;
  at: number;
}

/** Indexed by the edit's sequence number and by its uid, because it may be sent again under another number. */
export const DECIDED_EDITS: Collection<DecidedEdit> = defineCollection<DecidedEdit>(
  "hub_decided",
  ["endpoint", "inc", "oseq"],
  {
    ...{ endpoint: "text", inc: "integer", oseq: "integer", uid: "text", result: "text", lost: "json" },
    ...{ reason: "text", at: "integer" },
  },
  { uid: ["uid", "inc"] },
);

/** An edit that lost, kept for the users. */
export interface EditConflict {
  uid: string;
  type: string;
  id: string;
  endpoint: string;
  edit: RowEdit;
  lost: readonly string[];
  actor: string;
  at: number;
  /** Why it was refused; null if it lost to another change. */
  reason: string | null;
}

export const EDIT_CONFLICTS: Collection<EditConflict> = defineCollection<EditConflict>("hub_conflict", ["uid"], {
  uid: "text",
  type: "text",
  id: "text",
  endpoint: "text",
  edit: "json",
  lost: "json",
  actor: "text",
  at: "integer",
  reason: "text",
});

/** An edit that cannot be written before the row that it waits for. */
export interface WaitingEdit {
  uid: string;
  /** Order of arrival. */
  place: number;
  endpoint: string;
  inc: number;
  oseq: number;
  type: string;
  id: string;
  record: EditRecord;
  /** `type/id` of the row. */
  waitsFor: string;
  reason: string;
  /** When it arrived, and when it was last tried. */
  at: number;
  triedAt: number;
}

export const WAITING_EDITS: Collection<WaitingEdit> = defineCollection<WaitingEdit>(
  "hub_waiting_edit",
  ["uid"],
  {
    uid: "text",
    place: "integer",
    endpoint: "text",
    inc: "integer",
    oseq: "integer",
    type: "text",
    id: "text",
    record: "json",
    waitsFor: "text",
    reason: "text",
    at: "integer",
    triedAt: "integer",
  },
  {
    ...{ wake: ["waitsFor", "place"], row: ["type", "id", "place"], turn: ["endpoint", "type", "id", "place"] },
    ...{ arrival: ["place"], tried: ["triedAt", "uid"] },
  },
);

/** The result of an edit that waited: the appliance has results of later edits already. */
export interface LateResult extends EditResult {
  endpoint: string;
  place: number;
  at: number;
}

/** Sent with the next checkpoint of each connection until they are old. */
export const LATE_RESULTS: Collection<LateResult> = defineCollection<LateResult>(
  "hub_late_result",
  ["endpoint", "place"],
  { endpoint: "text", place: "integer", uid: "text", result: "text", lost: "json", reason: "text", at: "integer" },
  { age: ["at", "endpoint", "place"] },
);

/** A row that an appliance reported: facts are written once, state is replaced. */
export interface SiteRecord {
  type: string;
  id: string;
  endpoint: string;
  /** Uid of its newest record. */
  uid: string;
  /** Incarnation of the appliance that sent it last. */
  inc: number;
}

/** The rows themselves are in the product's tables. */
export const SITE_RECORDS: Collection<SiteRecord> = defineCollection<SiteRecord>(
  "hub_site_row",
  ["type", "id"],
  { type: "text", id: "text", endpoint: "text", uid: "text", inc: "integer" },
  { site: ["endpoint", "type", "id"] },
);

/** A row of an appliance that could not be written here, with the reason. */
export interface WaitingRow {
  type: string;
  id: string;
  body: RowBody | null;
  reason: string;
  /** When it was received. */
  at: number;
}

/** Rows of appliances that wait for the rows that they refer to. */
export const WAITING_ROWS: Collection<WaitingRow> = defineCollection<WaitingRow>(
  "hub_waiting",
  ["type", "id"],
  { type: "text", id: "text", body: "json", reason: "text", at: "integer" },
  { age: ["at", "type", "id"] },
);

/** A row whose scope changed: the rows that refer to it follow, in parts. */
export interface ScopeChange {
  type: string;
  id: string;
  /** Where to go on; null at the beginning. */
  from: string | null;
}

export const SCOPE_CHANGES: Collection<ScopeChange> = defineCollection<ScopeChange>(
  "hub_scope_change",
  ["type", "id"],
  { type: "text", id: "text", from: "text" },
);

/** How far rows have a scope that were published by a release without scopes. */
export interface ScopeProgress {
  id: "rows";
  /** Last row that has one, as `type/id`; null once all have. */
  after: string | null;
}

export const SCOPE_PROGRESS: Collection<ScopeProgress> = defineCollection<ScopeProgress>("hub_scope_progress", ["id"], {
  id: "text",
  after: "text",
});

/** Digest of the live rows of a type in one scope (`""`: the whole organisation). */
export interface ScopeDigest {
  type: string;
  scope: string;
  count: number;
  sum: number;
}

/** Maintained with each write. */
export const SCOPE_DIGESTS: Collection<ScopeDigest> = defineCollection<ScopeDigest>("hub_digest", ["type", "scope"], {
  type: "text",
  scope: "text",
  count: "integer",
  sum: "integer",
});

/** The owner of a unique name, in lower case. */
export interface UniqueName {
  type: string;
  name: string;
  id: string;
}

export const UNIQUE_NAMES: Collection<UniqueName> = defineCollection<UniqueName>("hub_name", ["type", "name"], {
  type: "text",
  name: "text",
  id: "text",
});

/** The active appliance of a group. */
export interface GroupLease {
  group: string;
  holder: string;
  term: number;
  until: number;
}

export const GROUP_LEASES: Collection<GroupLease> = defineCollection<GroupLease>("hub_lease", ["group"], {
  group: "text",
  holder: "text",
  term: "integer",
  until: "integer",
});
