import { filesInBody, HUB_FILE_REQUESTS, requestFiles } from "../files/file-requests.ts";
import { mergeEdit } from "../protocol/field-merge.ts";
import { type EditRecord, parseEdit } from "../protocol/frame-schemas.ts";
import {
  type CommandOutcome,
  type EditResult,
  FULL_STATE_SENT,
  type UpstreamFeed,
  type UpstreamPage,
  type UpstreamRow,
} from "../protocol/frames.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import { isSiteEditable } from "../protocol/site-edit-permissions.ts";
import {
  applyRow,
  deleteRecord,
  getRecord,
  putRecord,
  type RowBody,
  readProductRow,
  scanRecords,
  type TransactionProgram,
} from "../storage/transaction-program.ts";
import { recordCommandOutcome } from "./issued-commands.ts";
import { publishRows, withUniqueName } from "./publish.ts";
import {
  ADOPTIONS,
  DECIDED_EDITS,
  EDIT_CONFLICTS,
  type EditConflict,
  FEED_RECORDS,
  LINK_RECORDS,
  type LinkRecord,
  SITE_RECORDS,
  WAITING_ROWS,
  type WaitingRow,
} from "./tables.ts";

/** Rows about the appliance that they name. */
const ENDPOINT_SCOPED_TYPES: ReadonlySet<string> = new Set(["devices", "endpoint-activities"]);

/** What came of a page: whether it follows on, and who else is to hear that a command sounds. */
export interface UpstreamPageResult {
  result: "gap" | "fenced" | "taken";
  /** Whether cloud-owned rows changed. */
  published: boolean;
  heard: { endpoint: string; cid: string }[];
  /** What is said of commands, with all that is told of it. */
  outcomes: { cid: string; told: RowBody }[];
  /** Whether files may be wanted. */
  files: boolean;
  /** When it was taken. */
  at: number;
}

/** Takes a page that an appliance sent up, once: all of it and its new position in one transaction. */
export function* applyUpstreamPage(
  page: UpstreamPage,
  by: { endpoint: string; sess: number },
  types: ReplicatedTypes,
  at: number,
): TransactionProgram<UpstreamPageResult> {
  const link = yield* getRecord(LINK_RECORDS, by.endpoint);
  const lane: UpstreamFeed = page.feed === "up.hot" ? "hot" : "bulk";
  const refused = { published: false, heard: [], outcomes: [], files: false, at };
  if (!link || link.sess !== by.sess) return { result: "fenced", ...refused };
  if (page.from !== link[`${lane}Hw`]) return { result: "gap", ...refused };
  yield* putRecord(LINK_RECORDS, { ...link, [`${lane}Hw`]: page.to, [`${lane}Tail`]: page.tail });
  const taken: UpstreamPageResult = { result: "taken", ...refused };
  for (const row of page.rows) yield* applyUpstreamRow(row, link, types, taken);
  const adoption = lane === "hot" ? yield* getRecord(ADOPTIONS, by.endpoint) : null;
  if (adoption?.upTo != null && page.to >= adoption.upTo) yield* deleteRecord(ADOPTIONS, by.endpoint);
  return taken;
}

function* applyUpstreamRow(
  row: UpstreamRow,
  link: LinkRecord,
  types: ReplicatedTypes,
  taken: UpstreamPageResult,
): TransactionProgram<void> {
  const [op, type, id, oseq, uid, body] = row;
  const { endpoint } = link;
  if (type === FULL_STATE_SENT) return yield* removeUnreportedState(link, types);
  if (type === "outcome") {
    const others = yield* recordCommandOutcome(endpoint, id, body?.outcome as CommandOutcome);
    if (body) taken.outcomes.push({ cid: id, told: body });
    taken.heard.push(...others.map((other) => ({ endpoint: other, cid: id })));
    return;
  }
  if (type === "taken") {
    taken.outcomes.push({ cid: id, told: { outcome: "taken" } });
    return;
  }
  if (type === "edit") {
    const result = yield* decideOnce(parseEdit(body), { uid, oseq }, link, types);
    taken.published = true;
    taken.files = true;
    yield* putRecord(DECIDED_EDITS, { endpoint, inc: link.inc, oseq, at: taken.at, ...result });
    return;
  }
  yield* applySiteRow({ op, type, id, uid, body: body ?? null }, link, types, taken);
}

/** A record is taken once, whoever sends it again; each row is as its appliance says last. */
function* applySiteRow(
  { op, type, id, uid, body }: { op: "p" | "d"; type: string; id: string; uid: string; body: RowBody | null },
  { endpoint, inc }: LinkRecord,
  types: ReplicatedTypes,
  taken: UpstreamPageResult,
): TransactionProgram<void> {
  const cls = types.replicationClass(type);
  if (cls !== "C" && cls !== "D") return;
  const known = yield* getRecord(SITE_RECORDS, type, id);
  const isOwn = known ? known.endpoint === endpoint : isOwnedBy(yield* readProductRow(type, id), endpoint);
  if (!isOwn || !mayReport(type, body, endpoint)) return;
  yield* putRecord(SITE_RECORDS, { type, id, endpoint, uid, inc });
  if (known?.uid === uid) return;
  const files = filesInBody(body, types.fileFields(type));
  yield* requestFiles(HUB_FILE_REQUESTS, files, { holder: endpoint, rank: 1 });
  taken.files ||= files.length > 0;
  yield* writeSiteRow({ type, id, body: op === "p" ? body : null, at: taken.at });
}

/** Whether a row that no appliance has told yet is this one's to tell: there is none, or it names this one. */
function isOwnedBy(row: RowBody | null, endpoint: string): boolean {
  return row === null || row.endpointId === endpoint || row.initiatingEndpointId === endpoint;
}

/** What others do and have is not this one's to say; a message may well concern devices of others. */
function mayReport(type: string, body: RowBody | null, endpoint: string): boolean {
  const named = ENDPOINT_SCOPED_TYPES.has(type) ? body?.endpointId : null;
  return named == null || named === endpoint;
}

/** Writes a row of an appliance; one that refers to what is not here waits for it. */
function* writeSiteRow(row: Omit<WaitingRow, "reason">): TransactionProgram<boolean> {
  const applied = yield* applyRow(row.type, row.id, row.body);
  if (applied === "done") yield* deleteRecord(WAITING_ROWS, row.type, row.id);
  else
    yield* putRecord(WAITING_ROWS, {
      ...row,
      reason: applied === "wait" ? "What it refers to is not here." : applied.refused,
    });
  return applied === "done";
}

/** @source own choice: as long as appliances keep what arrived */
const WAITING_RETENTION_MS = 30 * 24 * 3600_000;

/** Tries rows that waited once more, oldest first; those that waited for too long are given up. Returns how many remain. */
export function* retryWaitingRows(now: number, limit = 200): TransactionProgram<number> {
  let left = 0;
  for (const { reason: _, ...row } of yield* scanRecords(WAITING_ROWS, { by: "age", limit })) {
    if (yield* writeSiteRow(row)) continue;
    if (row.at < now - WAITING_RETENTION_MS) yield* deleteRecord(WAITING_ROWS, row.type, row.id);
    else left += 1;
  }
  return left;
}

/** State that an older copy of the appliance does not have any more is gone. */
function* removeUnreportedState({ endpoint, inc }: LinkRecord, types: ReplicatedTypes): TransactionProgram<void> {
  for (const type of [...types.siteState].reverse()) {
    for (const row of yield* scanRecords(SITE_RECORDS, { by: "site", where: [endpoint, type] })) {
      if (row.inc >= inc) continue;
      yield* deleteRecord(SITE_RECORDS, type, row.id);
      yield* deleteRecord(WAITING_ROWS, type, row.id);
      yield* applyRow(type, row.id, null);
    }
  }
}

/** An edit may come again under another number, from an older copy of the appliance: its decision stands. */
function* decideOnce(
  edit: EditRecord | null,
  { uid, oseq }: { uid: string; oseq: number },
  link: LinkRecord,
  types: ReplicatedTypes,
): TransactionProgram<EditResult> {
  const earlier = (yield* scanRecords(DECIDED_EDITS, { by: "uid", where: [uid], limit: 1 }))[0];
  if (earlier) return { uid, result: earlier.result, lost: earlier.lost };
  if (!edit) return { uid, result: "refused", lost: [] };
  return yield* decideEdit(edit, { uid, oseq }, link.endpoint, types);
}

function* decideEdit(
  { type, id, edit, actor, at }: EditRecord,
  { uid, oseq }: { uid: string; oseq: number },
  endpoint: string,
  types: ReplicatedTypes,
): TransactionProgram<EditResult> {
  const cls = types.replicationClass(type);
  if (cls !== "A" && cls !== "B") return { uid, result: "refused", lost: [] };
  const row = yield* getRecord(FEED_RECORDS, type, id);
  const current = row?.body ?? null;
  const shown = { uid, type, id, endpoint, edit, actor, at };
  const isFit = Object.keys({ ...edit.add, ...edit.remove }).every((name) => types.idListFields(type).has(name));
  if (
    !isFit ||
    (cls === "A" && !isSiteEditable(type, current, edit) && !(yield* isAdopted(endpoint, oseq, current ? null : edit)))
  ) {
    return yield* recordConflict({ uid, result: "refused", lost: ["*"] }, shown);
  }
  // What acts at once at an appliance stands, whatever else was changed.
  const { body, lost, result } = mergeEdit(current, edit, cls === "A");
  if (result !== "gone" && body !== current) {
    const named = body && (yield* withUniqueName(type, id, body, types));
    yield* requestFiles(HUB_FILE_REQUESTS, filesInBody(named, types.fileFields(type)), { holder: endpoint, rank: 1 });
    const [applied] = yield* publishRows([{ type, id, body: named, scope: row?.scope ?? null, at }], types);
    // It refers to what is gone by now, or others refer to what it deletes.
    if (applied !== "done") return yield* recordConflict({ uid, result: "refused", lost: ["*"] }, shown);
  }
  return yield* recordConflict({ uid, result, lost }, shown);
}

/** The organisation's first appliance brings users and rights along, once. */
function* isAdopted(endpoint: string, oseq: number, made: EditRecord["edit"] | null): TransactionProgram<boolean> {
  const adoption = made?.op === "create" ? yield* getRecord(ADOPTIONS, endpoint) : null;
  return adoption?.upTo != null && oseq <= adoption.upTo;
}

function* recordConflict(result: EditResult, shown: Omit<EditConflict, "lost">): TransactionProgram<EditResult> {
  if (result.lost.length > 0) yield* putRecord(EDIT_CONFLICTS, { ...shown, lost: result.lost });
  return result;
}
