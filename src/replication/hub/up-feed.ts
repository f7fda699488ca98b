import { type EditBody, readEdit } from "../frame-schemas.ts";
import { type EditResult, type Lane, type Outcome, STATE_TOLD, type UpPage, type UpRow } from "../frames.ts";
import { merged } from "../merge.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import { isOfSite } from "../site-rights.ts";
import { filesIn, HUB_FILES, wantFiles } from "../wanted-files.ts";
import { applyRow, type Body, drop, get, put, scan, shownRow, type Work } from "../work.ts";
import { takeOutcome } from "./commands.ts";
import { publish, withFreeName } from "./publish.ts";
import {
  ADOPTIONS,
  CONFLICTS,
  type Conflict,
  DECIDED,
  LINKS,
  ROWS,
  SITE_ROWS,
  type SiteLink,
  WAITING,
  type WaitingRow,
} from "./tables.ts";

/** Rows about the appliance that they name. */
const OF_ONE: ReadonlySet<string> = new Set(["devices", "endpoint-activities"]);

/** What came of a page: whether it follows on, and who else is to hear that a command sounds. */
export interface TakenPage {
  verdict: "gap" | "fenced" | "taken";
  /** Whether cloud-owned rows changed. */
  published: boolean;
  heard: { endpoint: string; cid: string }[];
  /** What is said of commands, with all that is told of it. */
  outcomes: { cid: string; told: Body }[];
  /** Whether files may be wanted. */
  files: boolean;
  /** When it was taken. */
  at: number;
}

/** Takes a page that an appliance sent up, once: all of it and its new position in one transaction. */
export function* takePage(
  page: UpPage,
  by: { endpoint: string; sess: number },
  types: ReplicatedTypes,
  at: number,
): Work<TakenPage> {
  const link = yield* get(LINKS, by.endpoint);
  const lane: Lane = page.feed === "up.hot" ? "hot" : "bulk";
  const refused = { published: false, heard: [], outcomes: [], files: false, at };
  if (!link || link.sess !== by.sess) return { verdict: "fenced", ...refused };
  if (page.from !== link[`${lane}Hw`]) return { verdict: "gap", ...refused };
  yield* put(LINKS, { ...link, [`${lane}Hw`]: page.to, [`${lane}Tail`]: page.tail });
  const taken: TakenPage = { verdict: "taken", ...refused };
  for (const row of page.rows) yield* takeRow(row, link, types, taken);
  const adoption = lane === "hot" ? yield* get(ADOPTIONS, by.endpoint) : null;
  if (adoption?.upTo != null && page.to >= adoption.upTo) yield* drop(ADOPTIONS, by.endpoint);
  return taken;
}

function* takeRow(row: UpRow, link: SiteLink, types: ReplicatedTypes, taken: TakenPage): Work<void> {
  const [op, type, id, oseq, uid, body] = row;
  const { endpoint } = link;
  if (type === STATE_TOLD) return yield* dropUntold(link, types);
  if (type === "outcome") {
    const others = yield* takeOutcome(endpoint, id, body?.outcome as Outcome);
    if (body) taken.outcomes.push({ cid: id, told: body });
    taken.heard.push(...others.map((other) => ({ endpoint: other, cid: id })));
    return;
  }
  if (type === "taken") {
    taken.outcomes.push({ cid: id, told: { outcome: "taken" } });
    return;
  }
  if (type === "edit") {
    const result = yield* decideOnce(readEdit(body), { uid, oseq }, link, types);
    taken.published = true;
    taken.files = true;
    yield* put(DECIDED, { endpoint, inc: link.inc, oseq, at: taken.at, ...result });
    return;
  }
  yield* takeSiteRow({ op, type, id, uid, body: body ?? null }, link, types, taken);
}

/** A record is taken once, whoever sends it again; each row is as its appliance says last. */
function* takeSiteRow(
  { op, type, id, uid, body }: { op: "p" | "d"; type: string; id: string; uid: string; body: Body | null },
  { endpoint, inc }: SiteLink,
  types: ReplicatedTypes,
  taken: TakenPage,
): Work<void> {
  const cls = types.classOf(type);
  if (cls !== "C" && cls !== "D") return;
  const known = yield* get(SITE_ROWS, type, id);
  const isOwn = known ? known.endpoint === endpoint : isOf(yield* shownRow(type, id), endpoint);
  if (!isOwn || !mayTell(type, body, endpoint)) return;
  yield* put(SITE_ROWS, { type, id, endpoint, uid, inc });
  if (known?.uid === uid) return;
  const files = filesIn(body, types.filesOf(type));
  yield* wantFiles(HUB_FILES, files, { holder: endpoint, rank: 1 });
  taken.files ||= files.length > 0;
  yield* write({ type, id, body: op === "p" ? body : null, at: taken.at });
}

/** Whether a row that no appliance has told yet is this one's to tell: there is none, or it names this one. */
function isOf(row: Body | null, endpoint: string): boolean {
  return row === null || row.endpointId === endpoint || row.initiatingEndpointId === endpoint;
}

/** What others do and have is not this one's to say; a message may well concern devices of others. */
function mayTell(type: string, body: Body | null, endpoint: string): boolean {
  const named = OF_ONE.has(type) ? body?.endpointId : null;
  return named == null || named === endpoint;
}

/** Writes a row of an appliance; one that refers to what is not here waits for it. */
function* write(row: Omit<WaitingRow, "reason">): Work<boolean> {
  const applied = yield* applyRow(row.type, row.id, row.body);
  if (applied === "done") yield* drop(WAITING, row.type, row.id);
  else yield* put(WAITING, { ...row, reason: applied === "wait" ? "What it refers to is not here." : applied.refused });
  return applied === "done";
}

/** @source own choice: as long as appliances keep what arrived */
const WAITS_MS = 30 * 24 * 3600_000;

/** Tries rows that waited once more, oldest first; those that waited for too long are given up. Returns how many remain. */
export function* retryWaiting(now: number, limit = 200): Work<number> {
  let left = 0;
  for (const { reason: _, ...row } of yield* scan(WAITING, { by: "age", limit })) {
    if (yield* write(row)) continue;
    if (row.at < now - WAITS_MS) yield* drop(WAITING, row.type, row.id);
    else left += 1;
  }
  return left;
}

/** State that an older copy of the appliance does not have any more is gone. */
function* dropUntold({ endpoint, inc }: SiteLink, types: ReplicatedTypes): Work<void> {
  for (const type of [...types.stateOfSites].reverse()) {
    for (const row of yield* scan(SITE_ROWS, { by: "site", where: [endpoint, type] })) {
      if (row.inc >= inc) continue;
      yield* drop(SITE_ROWS, type, row.id);
      yield* drop(WAITING, type, row.id);
      yield* applyRow(type, row.id, null);
    }
  }
}

/** An edit may come again under another number, from an older copy of the appliance: its decision stands. */
function* decideOnce(
  edit: EditBody | null,
  { uid, oseq }: { uid: string; oseq: number },
  link: SiteLink,
  types: ReplicatedTypes,
): Work<EditResult> {
  const earlier = (yield* scan(DECIDED, { by: "uid", where: [uid], limit: 1 }))[0];
  if (earlier) return { uid, result: earlier.result, lost: earlier.lost };
  if (!edit) return { uid, result: "refused", lost: [] };
  return yield* decide(edit, { uid, oseq }, link.endpoint, types);
}

function* decide(
  { type, id, edit, actor, at }: EditBody,
  { uid, oseq }: { uid: string; oseq: number },
  endpoint: string,
  types: ReplicatedTypes,
): Work<EditResult> {
  const cls = types.classOf(type);
  if (cls !== "A" && cls !== "B") return { uid, result: "refused", lost: [] };
  const row = yield* get(ROWS, type, id);
  const current = row?.body ?? null;
  const shown = { uid, type, id, endpoint, edit, actor, at };
  const isFit = Object.keys({ ...edit.add, ...edit.remove }).every((name) => types.idLists(type).has(name));
  if (
    !isFit ||
    (cls === "A" && !isOfSite(type, current, edit) && !(yield* isBrought(endpoint, oseq, current ? null : edit)))
  ) {
    return yield* keepConflict({ uid, result: "refused", lost: ["*"] }, shown);
  }
  // What acts at once at an appliance stands, whatever else was changed.
  const { body, lost, result } = merged(current, edit, cls === "A");
  if (result !== "gone" && body !== current) {
    const named = body && (yield* withFreeName(type, id, body, types));
    yield* wantFiles(HUB_FILES, filesIn(named, types.filesOf(type)), { holder: endpoint, rank: 1 });
    const [applied] = yield* publish([{ type, id, body: named, scope: row?.scope ?? null, at }], types);
    // It refers to what is gone by now, or others refer to what it deletes.
    if (applied !== "done") return yield* keepConflict({ uid, result: "refused", lost: ["*"] }, shown);
  }
  return yield* keepConflict({ uid, result, lost }, shown);
}

/** The organisation's first appliance brings users and rights along, once. */
function* isBrought(endpoint: string, oseq: number, made: EditBody["edit"] | null): Work<boolean> {
  const adoption = made?.op === "create" ? yield* get(ADOPTIONS, endpoint) : null;
  return adoption?.upTo != null && oseq <= adoption.upTo;
}

function* keepConflict(result: EditResult, shown: Omit<Conflict, "lost">): Work<EditResult> {
  if (result.lost.length > 0) yield* put(CONFLICTS, { ...shown, lost: result.lost });
  return result;
}
