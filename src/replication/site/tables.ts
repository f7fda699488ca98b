import type { EditResult, Lane } from "../frames.ts";
import type { Edit } from "../merge.ts";
import { type Body, type Collection, collection } from "../work.ts";

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
export interface Marking {
  to: number;
}

/** Where this appliance stands; there is one record. Numbers begin at 0, which stands for nothing. */
export interface LinkState {
  id: "link";
  endpoint: string;
  /** Incarnation of the own feeds: one more after each restore. */
  inc: number;
  epoch: string | null;
  /** Up to where the cloud's feed is stored, and up to where it is applied. */
  recv: number;
  applied: number;
  marking: Marking | null;
  /** Rows of this generation are there for good; a resync makes them one newer. */
  gen: number;
  snapTo: number | null;
  snapAfter: string | null;
  snapEnded: number;
  /** Newest command of this epoch. */
  cmdHw: number;
  bulkSeq: number;
  bulkAcked: number;
  hotSeq: number;
  hotAcked: number;
  /** Up to where the results of own edits are known, in numbers of the hot feed. */
  decided: number;
  fresh: number;
  /** Cloud time at most, and wall time of that moment, for the time after a start. */
  ct: number | null;
  ctWall: number | null;
  /** Cloud time of the last digest that differed. */
  mismatchAt: number | null;
  /** Hash of the resources that this version knows. */
  types: string;
  /** Bytes of all records that are kept to go up. */
  outBytes: number;
  /** What became of the rows of the mark that is being applied. */
  tallies: Tallies;
  /** Own state that is being told anew, as a whole: the next resource and the last row of it. */
  telling: { type: string; after: string | null } | null;
}

/** The one record of where this appliance stands. */
export const LINK: Collection<LinkState> = collection<LinkState>("repl_link", ["id"], {
  id: "text",
  endpoint: "text",
  inc: "integer",
  epoch: "text",
  recv: "integer",
  applied: "integer",
  marking: "json",
  gen: "integer",
  snapTo: "integer",
  snapAfter: "text",
  snapEnded: "integer",
  cmdHw: "integer",
  bulkSeq: "integer",
  bulkAcked: "integer",
  hotSeq: "integer",
  hotAcked: "integer",
  decided: "integer",
  fresh: "integer",
  ct: "integer",
  ctWall: "integer",
  mismatchAt: "integer",
  types: "text",
  outBytes: "integer",
  tallies: "json",
  telling: "json",
});

/** A row that came and waits for its mark. `rank` says when its turn is: first what others refer to, removals last. */
export interface Staged {
  type: string;
  id: string;
  seq: number;
  gone: number;
  body: Body | null;
  rank: number;
  waits: number;
}

/** What came and is not to be seen before its mark. */
export const STAGE: Collection<Staged> = collection<Staged>(
  "repl_stage",
  ["type", "id"],
  { type: "text", id: "text", seq: "integer", gone: "integer", body: "json", rank: "integer", waits: "integer" },
  { turn: ["rank", "type", "id"] },
);

/** Which version of a cloud-owned row is applied here. */
export interface BaseRow {
  type: string;
  id: string;
  seq: number;
  gen: number;
  rank: number;
}

/** The applied versions; the rows themselves lie in the product's tables. */
export const BASE: Collection<BaseRow> = collection<BaseRow>(
  "repl_base",
  ["type", "id"],
  { type: "text", id: "text", seq: "integer", gen: "integer", rank: "integer" },
  { sweep: ["gen", "rank", "type", "id"] },
);

/** The cloud's version of a row that is shown with own edits on top; `body` is null where the cloud has none. */
export interface Shadow {
  type: string;
  id: string;
  body: Body | null;
}

/** Rows with own edits that the cloud has not decided, as the cloud has them. */
export const SHADOW: Collection<Shadow> = collection<Shadow>("repl_shadow", ["type", "id"], {
  type: "text",
  id: "text",
  body: "json",
});

/** A record on its way up, kept for a while after it arrived. A hollow one was overtaken by a newer version of its row. */
export interface Outgoing {
  lane: Lane;
  oseq: number;
  uid: string;
  op: "p" | "d" | "hollow";
  type: string;
  id: string;
  body: Body | null;
  at: number;
  /** 1 for the newest version of its row. */
  live: number;
  bytes: number;
}

/** What goes up, in order. */
export const OUT: Collection<Outgoing> = collection<Outgoing>(
  "repl_out",
  ["lane", "oseq"],
  {
    lane: "text",
    oseq: "integer",
    uid: "text",
    op: "text",
    type: "text",
    id: "text",
    body: "json",
    at: "integer",
    live: "integer",
    bytes: "integer",
  },
  { row: ["lane", "type", "id", "live", "oseq"] },
);

/** Up to where the own feeds had arrived when a day of the cloud (days since 1970, UTC) was first seen. */
export interface ArrivedBy {
  day: number;
  bulk: number;
  hot: number;
}

/** By these it is known what arrived long ago, whatever the own clock said meanwhile. */
export const ARRIVED: Collection<ArrivedBy> = collection<ArrivedBy>("repl_arrived", ["day"], {
  day: "integer",
  bulk: "integer",
  hot: "integer",
});

/** An edit of a cloud-owned row that was made here. */
export interface OwnEdit {
  uid: string;
  oseq: number;
  type: string;
  id: string;
  edit: Edit;
  state: "pending" | EditResult["result"];
  lost: readonly string[];
  actor: string;
  at: number;
}

/** Own edits, kept with their results. */
export const EDITS: Collection<OwnEdit> = collection<OwnEdit>(
  "repl_edit",
  ["uid"],
  {
    uid: "text",
    oseq: "integer",
    type: "text",
    id: "text",
    edit: "json",
    state: "text",
    lost: "json",
    actor: "text",
    at: "integer",
  },
  { row: ["type", "id", "state", "oseq"], open: ["state", "oseq"] },
);

/** A row that could not be written, and why. */
export interface Parked {
  type: string;
  id: string;
  seq: number;
  body: Body | null;
  reason: string;
}

/** Rows that were refused here; they are tried again with each mark. */
export const PARKED: Collection<Parked> = collection<Parked>("repl_parked", ["type", "id"], {
  type: "text",
  id: "text",
  seq: "integer",
  body: "json",
  reason: "text",
});

/** Activities that changed since they were last sent. */
export const ACTIVITIES: Collection<{ id: string }> = collection<{ id: string }>("repl_activity", ["id"], {
  id: "text",
});
