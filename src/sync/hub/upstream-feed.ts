import { sentence } from "../../lib/sentences/sentences.ts";
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
import { findMissingReferences, type MissingReference, withoutReferences } from "../protocol/missing-references.ts";
import { REMOTE_OVERRIDES } from "../protocol/replicated-body.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import { SECRET_MARKS } from "../protocol/secret-marks.ts";
import { isSiteEditable } from "../protocol/site-edit-permissions.ts";
import {
  type ApplyResult,
  applyRow,
  deleteRecord,
  getRecord,
  judgeSiteChange,
  putRecord,
  type RowBody,
  readProductRow,
  type SiteChange,
  scanRecords,
  type TransactionProgram,
} from "../storage/transaction-program.ts";
import { recordCommandOutcome } from "./issued-commands.ts";
import { publishRows, withUniqueName } from "./publish.ts";
import {
  ADOPTIONS,
  APPLIANCE_DOMAINS,
  DECIDED_EDITS,
  EDIT_CONFLICTS,
  type EditConflict,
  FEED_RECORDS,
  LATE_RESULTS,
  LINK_RECORDS,
  type LinkRecord,
  REFUSED_ADOPTIONS,
  SITE_RECORDS,
  WAITING_EDITS,
  WAITING_ROWS,
  type WaitingEdit,
  type WaitingRow,
} from "./tables.ts";
import { addLateResult, addWaitingEdit, firstWaitingEdit, writeCircle } from "./waiting-edits.ts";

/** Resources whose rows belong to the endpoint that they name. */
const ENDPOINT_SCOPED_TYPES: ReadonlySet<string> = new Set(["devices", "endpoint-activities"]);

const NOT_CONFIGURATION = sentence("sync.not-configuration");
/** Waiting edits that are decided with one row; the others follow with the next retries. */
const MAX_WOKEN = 200;

/** A result with its reason, as it is stored. */
type DecidedResult = EditResult & { reason: string | null };

/** Result of a page. */
export interface UpstreamPageResult {
  result: "gap" | "fenced" | "taken";
  /** Whether cloud-owned rows changed. */
  published: boolean;
  /** Other appliances to notify that a command plays. */
  heard: { endpoint: string; cid: string }[];
  /** Reports on commands, with details. */
  outcomes: { cid: string; report: RowBody }[];
  /** Whether files may have been requested. */
  files: boolean;
  /** When it was handled. */
  at: number;
}

/** Applies a page of an appliance, once: its rows and its new position in one transaction. */
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
  const pageResult: UpstreamPageResult = { result: "taken", ...refused };
  for (const row of page.rows) yield* applyUpstreamRow(row, link, types, pageResult);
  const adoption = lane === "hot" ? yield* getRecord(ADOPTIONS, by.endpoint) : null;
  if (adoption?.upTo != null && page.to >= adoption.upTo) yield* deleteRecord(ADOPTIONS, by.endpoint);
  return pageResult;
}

function* applyUpstreamRow(
  row: UpstreamRow,
  link: LinkRecord,
  types: ReplicatedTypes,
  pageResult: UpstreamPageResult,
): TransactionProgram<void> {
  const [op, type, id, oseq, uid, body] = row;
  const { endpoint } = link;
  if (type === FULL_STATE_SENT) return yield* removeUnreportedState(link, types);
  if (type === "outcome") {
    const others = yield* recordCommandOutcome(endpoint, id, body?.outcome as CommandOutcome);
    if (body) pageResult.outcomes.push({ cid: id, report: body });
    pageResult.heard.push(...others.map((other) => ({ endpoint: other, cid: id })));
    return;
  }
  if (type === "taken") {
    pageResult.outcomes.push({ cid: id, report: { outcome: "taken" } });
    return;
  }
  if (type === "edit") {
    const result = yield* decideOnce(parseEdit(body), { uid, oseq, at: pageResult.at }, link, types);
    pageResult.published = true;
    pageResult.files = true;
    if (!result) return;
    yield* putRecord(DECIDED_EDITS, { endpoint, inc: link.inc, oseq, at: pageResult.at, ...result });
    const { type: of, id: row } = parseEdit(body) ?? { type: "", id: "" };
    yield* wakeWaitingEdits([`${of}/${row}`], types, pageResult.at);
    return;
  }
  yield* applySiteRow({ op, type, id, uid, body: body ?? null }, link, types, pageResult);
}

/** Applies a record once, however often it is sent; the last version that the appliance sent counts. */
function* applySiteRow(
  { op, type, id, uid, body }: { op: "p" | "d"; type: string; id: string; uid: string; body: RowBody | null },
  { endpoint, inc }: LinkRecord,
  types: ReplicatedTypes,
  pageResult: UpstreamPageResult,
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
  pageResult.files ||= files.length > 0;
  const finished = body && { ...body, ...REMOTE_OVERRIDES[type] };
  yield* writeSiteRow({ type, id, body: op === "p" ? finished : null, at: pageResult.at }, types);
  yield* wakeWaitingEdits([`${type}/${id}`], types, pageResult.at);
}

/** Why a change goes beyond what the appliance may do; null if it does not. */
function* judgeOf(
  endpoint: string,
  change: Pick<SiteChange, "type" | "id" | "before" | "after">,
): TransactionProgram<string | null> {
  const bound = yield* getRecord(APPLIANCE_DOMAINS, endpoint);
  return yield* judgeSiteChange({ ...change, endpoint, domainIds: bound?.domainIds ?? null });
}

/** Whether an unreported row may be reported by this appliance: it does not exist, or names this endpoint. */
function isOwnedBy(row: RowBody | null, endpoint: string): boolean {
  return row === null || row.endpointId === endpoint || row.initiatingEndpointId === endpoint;
}

/** An appliance must not report rows of other endpoints; a notification may concern devices of others, though. */
function mayReport(type: string, body: RowBody | null, endpoint: string): boolean {
  const named = ENDPOINT_SCOPED_TYPES.has(type) ? body?.endpointId : null;
  return named == null || named === endpoint;
}

/** Why a reported row is not one of the appliance's domains; null if it is, or if it is not bound to any. */
function* excessOfSiteRow({
  type,
  id,
  body,
}: Pick<WaitingRow, "type" | "id" | "body">): TransactionProgram<string | null> {
  const endpoint = (yield* getRecord(SITE_RECORDS, type, id))?.endpoint ?? null;
  const bound = endpoint === null ? null : yield* getRecord(APPLIANCE_DOMAINS, endpoint);
  if (endpoint === null || !bound) return null;
  const before = yield* readProductRow(type, id);
  return yield* judgeSiteChange({ endpoint, domainIds: bound.domainIds, type, id, before, after: body });
}

/**
 * Writes a row of an appliance; one that refers to a missing row waits. One outside the domains of the appliance is dropped,
 * unless a missing row may still say that it belongs to them.
 */
function* writeSiteRow(row: Omit<WaitingRow, "reason">, types: ReplicatedTypes): TransactionProgram<boolean> {
  const { type, id, body } = row;
  const excess = yield* excessOfSiteRow(row);
  const missing = excess && body ? yield* findMissingReferences({ type, id, body }, types) : [];
  if (excess && missing.length === 0) {
    yield* deleteRecord(WAITING_ROWS, type, id);
    return true;
  }
  const applied = excess ? "wait" : yield* applyRow(type, id, body);
  if (applied === "done") yield* deleteRecord(WAITING_ROWS, type, id);
  else {
    if (applied === "wait" && !excess) yield* writeIncomplete(row, types);
    yield* putRecord(WAITING_ROWS, {
      ...row,
      reason: applied === "wait" ? yield* explainWait(row, types) : applied.refused,
    });
  }
  return applied === "done";
}

/**
 * A row may refer to one that never leaves its appliance, such as a room of an appliance that has joined. It is shown without
 * that reference, which follows if the other row arrives.
 */
function* writeIncomplete({ type, id, body }: Omit<WaitingRow, "reason">, types: ReplicatedTypes) {
  if (!body) return;
  const missing = yield* findMissingReferences({ type, id, body }, types);
  if (missing.length > 0 && missing.every(({ isOptional }) => isOptional))
    yield* applyRow(type, id, withoutReferences(body, missing));
}

function* explainWait(
  { type, id, body }: Pick<WaitingRow, "type" | "id" | "body">,
  types: ReplicatedTypes,
): TransactionProgram<string> {
  if (!body) return sentence("sync.referenced-in-cloud");
  const [missing] = yield* findMissingReferences({ type, id, body }, types);
  return missing ? referenceReason(missing) : sentence("sync.conflict-in-cloud");
}

/** @source docs/decisions/0300-sync-limits.md */
const WAITING_RETENTION_MS = 30 * 24 * 3600_000;

/** Retries waiting rows, oldest first, and drops those that waited too long. Returns the number that remain. */
export function* retryWaitingRows(types: ReplicatedTypes, now: number, limit = 200): TransactionProgram<number> {
  let left = 0;
  for (const { reason: _, ...row } of yield* scanRecords(WAITING_ROWS, { by: "age", limit })) {
    if (yield* writeSiteRow(row, types)) continue;
    if (row.at < now - WAITING_RETENTION_MS) yield* deleteRecord(WAITING_ROWS, row.type, row.id);
    else left += 1;
  }
  return left;
}

/** Deletes state that the appliance did not send in its present incarnation. */
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

/** Decides an edit once: an older copy of the appliance may send it again under another number. */
function* decideOnce(
  edit: EditRecord | null,
  { uid, oseq, at }: { uid: string; oseq: number; at: number },
  link: LinkRecord,
  types: ReplicatedTypes,
): TransactionProgram<DecidedResult | null> {
  const earlier = (yield* scanRecords(DECIDED_EDITS, { by: "uid", where: [uid], limit: 1 }))[0];
  if (earlier) return { uid, result: earlier.result, lost: earlier.lost, reason: earlier.reason ?? null };
  if (!edit) return { uid, result: "refused", lost: [], reason: sentence("sync.edit-unreadable") };
  if (yield* getRecord(WAITING_EDITS, uid)) return null;
  return yield* decideEdit(edit, { uid, oseq, inc: link.inc, endpoint: link.endpoint, now: at }, types);
}

/** Origin of an edit; `isAdmitted` if it was found to be allowed before it waited. */
interface EditOrigin {
  uid: string;
  oseq: number;
  inc: number;
  endpoint: string;
  now: number;
  isAdmitted?: boolean;
}

/** Null if the edit waits for a row that may still arrive. */
function* decideEdit(
  record: EditRecord,
  origin: EditOrigin,
  types: ReplicatedTypes,
): TransactionProgram<DecidedResult | null> {
  const { type, id, actor, at } = record;
  const { uid, oseq, endpoint, now } = origin;
  // Only the cloud says which secrets it has.
  const { [SECRET_MARKS]: _, ...set } = record.edit.set;
  const edit = { ...record.edit, set };
  const cls = types.replicationClass(type);
  if (cls !== "A" && cls !== "B") return { uid, result: "refused", lost: [], reason: NOT_CONFIGURATION };
  const row = yield* getRecord(FEED_RECORDS, type, id);
  const current = row?.body ?? null;
  const shown = { uid, type, id, endpoint, edit, actor, at };
  const refuse = (reason: string) => recordConflict({ uid, result: "refused", lost: ["*"], reason }, shown);
  const isFit = Object.keys({ ...edit.add, ...edit.remove }).every((name) => types.idListFields(type).has(name));
  if (!isFit) return yield* refuse(sentence("error.the-edit-adds-to-a-field-that-is-not-a-list"));
  const isEditable = cls === "B" || isSiteEditable(type, current, edit);
  const isAdoption =
    !isEditable && current === null && (origin.isAdmitted || (yield* isAdopted(record, endpoint, { oseq, now })));
  if (!isEditable && !isAdoption && !origin.isAdmitted)
    return yield* refuse(sentence("error.it-can-only-be-changed-in-the-cloud"));
  const refuseAllowed = function* (reason: string): TransactionProgram<DecidedResult> {
    if (isAdoption) yield* putRecord(REFUSED_ADOPTIONS, { endpoint, type, id, at: now });
    return yield* refuse(reason);
  };
  // Those of other appliances do not hold it up.
  const earlier = yield* firstWaitingEdit(type, id, endpoint);
  if (earlier && earlier.uid !== uid) {
    yield* waitFor(`${type}/${id}`, sentence("error.an-earlier-edit-of-the-row-waits"), record, origin);
    return null;
  }
  // Edits of class A take effect at the appliance at once and override other changes.
  const { body, lost, result } = mergeEdit(current, edit, cls === "A");
  const isChanged = result !== "gone" && body !== current;
  const excess = isChanged ? yield* judgeOf(endpoint, { type, id, before: current, after: body }) : null;
  if (excess) return yield* refuseAllowed(excess);
  if (isChanged) {
    const named = body && (yield* withUniqueName(type, id, body, types));
    yield* requestFiles(HUB_FILE_REQUESTS, filesInBody(named, types.fileFields(type)), { holder: endpoint, rank: 1 });
    const [applied] = yield* publishRows([{ type, id, body: named, at }], types);
    // It refers to a deleted row, or other rows refer to the one that it deletes.
    if (applied !== "done") {
      const missing = applied === "wait" && named ? yield* findMissingReferences({ type, id, body: named }, types) : [];
      const awaited = missing[0] && (yield* findDeleted(missing)) === null ? missing[0] : null;
      if (!awaited) return yield* refuseAllowed(refusalReason(applied, missing, edit.op));
      yield* waitFor(`${awaited.to}/${awaited.id}`, referenceReason(awaited), record, origin);
      yield* finishCircle(uid, types, origin.now);
      return null;
    }
  }
  if (isAdoption) yield* deleteRecord(REFUSED_ADOPTIONS, endpoint, type, id);
  return yield* recordConflict({ uid, result, lost }, shown);
}

function* waitFor(
  waitsFor: string,
  reason: string,
  record: EditRecord,
  { uid, oseq, inc, endpoint, now }: EditOrigin,
): TransactionProgram<void> {
  const { type, id } = record;
  yield* addWaitingEdit({ uid, endpoint, inc, oseq, type, id, record, waitsFor, reason, at: now });
}

/** Writes the rows that wait for each other, if the last of them has arrived. */
function* finishCircle(uid: string, types: ReplicatedTypes, now: number): TransactionProgram<void> {
  const start = yield* getRecord(WAITING_EDITS, uid);
  const done = start ? yield* writeCircle(start, types, now) : [];
  for (const { edit, lost } of done) {
    const { actor, at } = edit.record;
    const shown = { ...edit, edit: edit.record.edit, actor, at };
    const result = lost.length > 0 ? ("conflict" as const) : ("merged" as const);
    yield* settleLate(edit, yield* recordConflict({ uid: edit.uid, result, lost }, shown), now);
  }
  const written = done.map(({ edit }) => `${edit.type}/${edit.id}`);
  if (written.length > 0) yield* wakeWaitingEdits(written, types, now);
}

/** Decides the edits that waited for these rows, and those that waited for them in turn. */
function* wakeWaitingEdits(written: readonly string[], types: ReplicatedTypes, now: number): TransactionProgram<void> {
  const queue = [...written];
  let budget = MAX_WOKEN;
  for (let key = queue.shift(); key !== undefined; key = queue.shift()) {
    if (budget <= 0) return;
    for (const waiting of yield* scanRecords(WAITING_EDITS, { by: "wake", where: [key], limit: budget })) {
      budget -= 1;
      // An edit before it may have decided it with its circle.
      if (!(yield* getRecord(WAITING_EDITS, waiting.uid))) continue;
      if (yield* decideWaitingEdit(waiting, types, now)) queue.push(`${waiting.type}/${waiting.id}`);
    }
  }
}

/** False if it goes on waiting. */
function* decideWaitingEdit(waiting: WaitingEdit, types: ReplicatedTypes, now: number): TransactionProgram<boolean> {
  const { uid, oseq, inc, endpoint, record } = waiting;
  const result = yield* decideEdit(record, { uid, oseq, inc, endpoint, now, isAdmitted: true }, types);
  if (!result) return false;
  yield* deleteRecord(WAITING_EDITS, uid);
  yield* settleLate(waiting, result, now);
  return true;
}

function* settleLate(
  { endpoint, inc, oseq }: WaitingEdit,
  result: DecidedResult,
  at: number,
): TransactionProgram<void> {
  yield* putRecord(DECIDED_EDITS, { endpoint, inc, oseq, at, ...result });
  yield* addLateResult({ endpoint, at, ...result });
}

/** Deletes late results that every appliance must have by now. */
export function* pruneLateResults(now: number, limit = 200): TransactionProgram<void> {
  const old = yield* scanRecords(LATE_RESULTS, { by: "age", upTo: now - WAITING_RETENTION_MS, limit });
  for (const { endpoint, place } of old) yield* deleteRecord(LATE_RESULTS, endpoint, place);
}

/**
 * Retries the waiting edit that was tried least recently, and refuses one that waited too long. False if all were tried at
 * this time.
 */
export function* retryWaitingEdit(types: ReplicatedTypes, now: number): TransactionProgram<boolean> {
  const [waiting] = yield* scanRecords(WAITING_EDITS, { by: "tried", limit: 1 });
  if (!waiting || waiting.triedAt >= now) return false;
  const { uid, type, id, endpoint, record, reason } = waiting;
  if (yield* decideWaitingEdit(waiting, types, now)) yield* wakeWaitingEdits([`${type}/${id}`], types, now);
  else if (waiting.at < now - WAITING_RETENTION_MS && (yield* getRecord(WAITING_EDITS, uid))) {
    const shown = { uid, type, id, endpoint, edit: record.edit, actor: record.actor, at: record.at };
    yield* deleteRecord(WAITING_EDITS, uid);
    yield* settleLate(waiting, yield* recordConflict({ uid, result: "refused", lost: ["*"], reason }, shown), now);
  }
  return true;
}

/** A referenced row that was deleted here, and so will not arrive. */
function* findDeleted(missing: readonly MissingReference[]): TransactionProgram<MissingReference | null> {
  for (const each of missing) if ((yield* getRecord(FEED_RECORDS, each.to, each.id))?.gone === 1) return each;
  return null;
}

const referenceReason = ({ name, to, id }: MissingReference): string =>
  sentence("sync.reference-missing-in-cloud", { name, to, id });

const MAX_NAMED_REFERENCES = 3;

/** A row may refer to hundreds of missing ones. */
function listReasons(missing: readonly MissingReference[]): string {
  const named = missing.slice(0, MAX_NAMED_REFERENCES).map(referenceReason);
  const more = missing.length - named.length;
  return [...named, ...(more > 0 ? [sentence("sync.more-missing", { count: more })] : [])].join(" ");
}

function refusalReason(
  applied: ApplyResult | undefined,
  missing: readonly MissingReference[],
  op: EditRecord["edit"]["op"],
): string {
  if (typeof applied === "object") return applied.refused;
  if (op === "delete") return sentence("sync.referenced-in-cloud");
  if (missing.length > 0) return listReasons(missing);
  return sentence("sync.conflict-or-invalid-in-cloud");
}

/** The organisation's first appliance brings its users and permissions, once; those that were refused may come again. */
function* isAdopted(
  { type, id, edit }: EditRecord,
  endpoint: string,
  { oseq, now }: { oseq: number; now: number },
): TransactionProgram<boolean> {
  if (edit.op !== "create") return false;
  const adoption = yield* getRecord(ADOPTIONS, endpoint);
  if (adoption?.upTo != null && oseq <= adoption.upTo) return true;
  const refused = yield* getRecord(REFUSED_ADOPTIONS, endpoint, type, id);
  return refused !== null && refused.at > now - WAITING_RETENTION_MS;
}

function* recordConflict(
  { reason = null, ...result }: EditResult,
  shown: Omit<EditConflict, "lost" | "reason">,
): TransactionProgram<DecidedResult> {
  if (result.lost.length > 0) yield* putRecord(EDIT_CONFLICTS, { ...shown, lost: result.lost, reason });
  return { ...result, reason };
}
