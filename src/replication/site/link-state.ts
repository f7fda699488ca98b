import { BugError } from "../../base/errors.ts";
import type { Credit, Hello } from "../frames.ts";
import { get, put, type Work } from "../work.ts";
import type { KeptTime } from "./cloud-time.ts";
import { LINK, type LinkState } from "./tables.ts";

/** Where this appliance stands. Throws BugError before `prepareLink`. */
export function* linkState(): Work<LinkState> {
  const link = yield* get(LINK, "link");
  if (!link) throw new BugError("the link was never prepared");
  return link;
}

/**
 * Makes the record of a new link. A version that knows other resources than the one before asks for all rows anew, since
 * it passed over those it did not know.
 */
export function* prepareLink(endpoint: string, types: string): Work<LinkState> {
  const found = yield* get(LINK, "link");
  if (found && found.types === types) return found;
  const link = found ? { ...found, types, fresh: 1 } : newLink(endpoint, types);
  yield* put(LINK, link);
  return link;
}

/**
 * The pair of times that a new process may begin with. One of a wall clock that now stands before it is forgotten for
 * good: once that clock is set right, it would look as if less time had passed than did.
 */
export function* keptTime(now: number): Work<KeptTime | null> {
  const link = yield* linkState();
  const { ct, ctWall } = link;
  if (ct === null || ctWall === null) return null;
  if (now >= ctWall) return { ct, wall: ctWall };
  yield* put(LINK, { ...link, ct: null, ctWall: null });
  return null;
}

function newLink(endpoint: string, types: string): LinkState {
  const feeds = { bulkSeq: 0, bulkAcked: 0, hotSeq: 0, hotAcked: 0, decided: 0, outBytes: 0 };
  const snap = { snapTo: null, snapAfter: null, snapEnded: 0, gen: 1, fresh: 0 };
  const down = { epoch: null, recv: 0, applied: 0, marking: null, cmdHw: 0 };
  const time = { ct: null, ctWall: null, mismatchAt: null };
  const own = { tallies: {}, telling: null };
  return { id: "link", endpoint, inc: 1, types, ...down, ...feeds, ...snap, ...time, ...own };
}

/** The first frame of a connection. */
export function* makeHello(types: readonly string[], credit: Credit): Work<Hello> {
  const link = yield* linkState();
  const isSnapping = link.snapTo !== null && link.snapEnded === 0;
  return {
    t: "hello",
    v: 1,
    endpoint: link.endpoint,
    inc: link.inc,
    oseq: { bulk: link.bulkSeq, hot: link.hotSeq },
    epoch: link.epoch,
    recv: link.recv,
    applied: link.applied,
    snap: isSnapping ? { h0: link.snapTo as number, after: link.snapAfter } : null,
    cmdHw: link.cmdHw,
    decided: link.decided,
    fresh: link.fresh === 1,
    types,
    credit,
  };
}
