import type { EditResult, Lane, Outcome, UpPage, UpRow } from "../frames.ts";
import { type Edit, merged } from "../merge.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import { applyRow, type Body, get, put, scan, type Work } from "../work.ts";
import { takeOutcome } from "./commands.ts";
import { publish, withFreeName } from "./publish.ts";
import { CONFLICTS, type Conflict, DECIDED, LINKS, ROWS, SITE_ROWS, type SiteLink } from "./tables.ts";

/** An edit as it travels. */
interface EditBody {
  type: string;
  id: string;
  edit: Edit;
  actor: string;
  at: number;
  wins: boolean;
}

/** What came of a page: whether it follows on, and who else is to hear that a command sounds. */
export interface TakenPage {
  verdict: "gap" | "fenced" | "taken";
  /** Whether cloud-owned rows changed. */
  published: boolean;
  heard: { endpoint: string; cid: string }[];
}

/** Takes a page that an appliance sent up, once: all of it and its new position in one transaction. */
export function* takePage(
  page: UpPage,
  by: { endpoint: string; sess: number },
  types: ReplicatedTypes,
): Work<TakenPage> {
  const link = yield* get(LINKS, by.endpoint);
  const lane: Lane = page.feed === "up.hot" ? "hot" : "bulk";
  const refused = { published: false, heard: [] };
  if (!link || link.sess !== by.sess) return { verdict: "fenced", ...refused };
  if (page.from !== link[`${lane}Hw`]) return { verdict: "gap", ...refused };
  yield* put(LINKS, { ...link, [`${lane}Hw`]: page.to, [`${lane}Tail`]: page.tail });
  const taken: TakenPage = { verdict: "taken", ...refused };
  for (const row of page.rows) yield* takeRow(row, link, types, taken);
  return taken;
}

function* takeRow(row: UpRow, link: SiteLink, types: ReplicatedTypes, taken: TakenPage): Work<void> {
  const [op, type, id, oseq, uid, body] = row;
  const { endpoint } = link;
  if (type === "outcome") {
    const others = yield* takeOutcome(endpoint, id, body?.outcome as Outcome);
    taken.heard.push(...others.map((other) => ({ endpoint: other, cid: id })));
    return;
  }
  if (type === "edit") {
    const result = yield* decideOnce(body as unknown as EditBody, uid, link, types);
    taken.published = true;
    yield* put(DECIDED, { endpoint, inc: link.inc, oseq, ...result });
    return;
  }
  yield* takeSiteRow({ op, type, id, uid, body: body ?? null }, endpoint, types);
}

/** Facts are taken once, whoever sends them again; state is what its appliance says last. */
function* takeSiteRow(
  { op, type, id, uid, body }: { op: "p" | "d"; type: string; id: string; uid: string; body: Body | null },
  endpoint: string,
  types: ReplicatedTypes,
): Work<void> {
  const cls = types.classOf(type);
  if (cls !== "C" && cls !== "D") return;
  const known = yield* get(SITE_ROWS, type, id);
  if (known && (cls === "D" || known.endpoint !== endpoint)) return;
  yield* put(SITE_ROWS, { type, id, endpoint, uid });
  yield* applyRow(type, id, op === "p" ? body : null);
}

/** An edit may come again under another number, from an older copy of the appliance: its decision stands. */
function* decideOnce(edit: EditBody, uid: string, link: SiteLink, types: ReplicatedTypes): Work<EditResult> {
  const earlier = (yield* scan(DECIDED, { by: "uid", where: [uid], limit: 1 }))[0];
  if (earlier) return { uid, result: earlier.result, lost: earlier.lost };
  return yield* decide(edit, uid, link.endpoint, types);
}

function* decide(
  { type, id, edit, actor, at, wins }: EditBody,
  uid: string,
  endpoint: string,
  types: ReplicatedTypes,
): Work<EditResult> {
  const cls = types.classOf(type);
  if (cls !== "A" && cls !== "B") return { uid, result: "refused", lost: [] };
  const row = yield* get(ROWS, type, id);
  const current = row?.body ?? null;
  const shown = { uid, type, id, endpoint, edit, actor, at };
  const { body, lost, result } = merged(current, edit, wins);
  if (result !== "gone" && body !== current) {
    const named = body && (yield* withFreeName(type, id, body, types));
    const [applied] = yield* publish([{ type, id, body: named, scope: row?.scope ?? null, at }], types);
    // It refers to what is gone by now, or others refer to what it deletes.
    if (applied !== "done") return yield* keepConflict({ uid, result: "refused", lost: ["*"] }, shown);
  }
  return yield* keepConflict({ uid, result, lost }, shown);
}

function* keepConflict(result: EditResult, shown: Omit<Conflict, "lost">): Work<EditResult> {
  if (result.lost.length > 0) yield* put(CONFLICTS, { ...shown, lost: result.lost });
  return result;
}
