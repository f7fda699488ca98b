import type { Credit, Hello, Welcome } from "../frames.ts";
import { get, put, type Work } from "../work.ts";
import { type Concluded, settleLostInbox } from "./commands.ts";
import { type Cursor, snapshotFor } from "./down-feed.ts";
import { head } from "./publish.ts";
import { ADOPTIONS, LINKS, type SiteLink } from "./tables.ts";

/** A connection that was let in: the answer, and what is remembered of it. */
export interface Admission {
  welcome: Welcome;
  cursor: Cursor;
  /** False for an older copy of an appliance, which will find that out by the answer and come again. */
  isCurrent: boolean;
  /** Newest command that arrived, in this epoch and incarnation. */
  cmdHw: number;
  /** Commands of which an older copy of the appliance can't say what became of them. */
  lost: Concluded[];
}

function newLink(endpoint: string): SiteLink {
  const feeds = { inc: 0, bulkHw: 0, bulkTail: null, hotHw: 0, hotTail: null };
  return { endpoint, sess: 0, ...feeds, applied: 0, seen: 0, scopes: null, given: 0, hold: null, holdUntil: null };
}

/** Lets an appliance in. Each connection gets a higher number, which fences the one before. */
export function* admit(hello: Hello, now: number, credit: Credit): Work<Admission> {
  const found = (yield* get(LINKS, hello.endpoint)) ?? newLink(hello.endpoint);
  const isNewer = hello.inc > found.inc;
  const feeds = isNewer ? { inc: hello.inc, bulkHw: 0, bulkTail: null, hotHw: 0, hotTail: null } : {};
  const link = { ...found, ...feeds, sess: found.sess + 1, applied: hello.applied, seen: now };
  const lost = isNewer && found.inc > 0 ? yield* settleLostInbox(hello.endpoint, hello.inc) : [];
  yield* boundAdoption(hello.endpoint, hello.oseq.hot, isNewer);
  const epoch = yield* epochOf(link);
  const snap = yield* snapshotFor(link, { ...hello, isSame: hello.epoch === epoch }, now);
  const { sess, inc } = link;
  const up = {
    bulk: { hw: link.bulkHw, tail: link.bulkTail },
    hot: { hw: link.hotHw, tail: link.hotTail },
  };
  return {
    welcome: { t: "welcome", sess, epoch, ct: now, inc, up, resync: snap, credit },
    cursor: {
      endpoint: hello.endpoint,
      sess,
      types: hello.types,
      at: hello.recv,
      told: isNewer ? 0 : Math.min(hello.decided, link.hotHw),
      owesMark: hello.applied < hello.recv || snap !== null,
      owesDigests: snap !== null,
      snap,
    },
    isCurrent: hello.inc === inc,
    cmdHw: hello.epoch === epoch ? hello.cmdHw : 0,
    lost,
  };
}

/** What an appliance brings along was written before it came first; an older copy of it has that under other numbers. */
function* boundAdoption(endpoint: string, newest: number, isNewer: boolean): Work<void> {
  const adoption = yield* get(ADOPTIONS, endpoint);
  if (adoption && (adoption.upTo === null || isNewer)) yield* put(ADOPTIONS, { endpoint, upTo: newest });
}

/** What an appliance holds belongs to an incarnation of the feed, and to the parts of the organisation that it was given. */
function* epochOf({ given }: SiteLink): Work<string> {
  const { epoch } = yield* head();
  return `${epoch}/${given}`;
}

/** Gives an appliance other parts of the organisation, from its next connection on; null for all. Ends the present one. */
export function* setScopes(endpoint: string, scopes: readonly string[] | null): Work<void> {
  const link = (yield* get(LINKS, endpoint)) ?? newLink(endpoint);
  yield* put(LINKS, { ...link, sess: link.sess + 1, scopes, given: link.given + 1 });
}

/** Notes how far an appliance came. */
export function* noteApplied(endpoint: string, sess: number, applied: number, now: number): Work<void> {
  const link = yield* get(LINKS, endpoint);
  if (link?.sess === sess) yield* put(LINKS, { ...link, applied: Math.max(link.applied, applied), seen: now });
}
