import type { Credit, SyncHello, SyncWelcome } from "../protocol/frames.ts";
import { getRecord, putRecord, type TransactionProgram } from "../storage/transaction-program.ts";
import { type FeedCursor, planSnapshot } from "./downstream-feed.ts";
import { type ConcludedCommand, concludeLostCommands } from "./issued-commands.ts";
import { readFeedHead } from "./publish.ts";
import { ADOPTIONS, LINK_RECORDS, type LinkRecord } from "./tables.ts";

/** An admitted connection. */
export interface HandshakeResult {
  welcome: SyncWelcome;
  cursor: FeedCursor;
  /** False for an older copy of an appliance, which detects that by the welcome and connects again. */
  isCurrent: boolean;
  /** Newest command received in this epoch and incarnation. */
  commandHighWatermark: number;
  /** Commands whose outcome an older copy of the appliance cannot know. */
  lost: ConcludedCommand[];
}

function newLinkRecord(endpoint: string): LinkRecord {
  const feeds = { inc: 0, bulkHw: 0, bulkTail: null, hotHw: 0, hotTail: null };
  return { endpoint, sess: 0, ...feeds, applied: 0, seen: 0, scopes: null, given: 0, hold: null, holdUntil: null };
}

/** Admits an appliance. Each connection gets a higher session number, which fences the one before. */
export function* admitSite(hello: SyncHello, now: number, credit: Credit): TransactionProgram<HandshakeResult> {
  const found = (yield* getRecord(LINK_RECORDS, hello.endpoint)) ?? newLinkRecord(hello.endpoint);
  const isNewer = hello.inc > found.inc;
  const feeds = isNewer ? { inc: hello.inc, bulkHw: 0, bulkTail: null, hotHw: 0, hotTail: null } : {};
  const link = { ...found, ...feeds, sess: found.sess + 1, applied: hello.applied, seen: now };
  const lost = isNewer && found.inc > 0 ? yield* concludeLostCommands(hello.endpoint, hello.inc) : [];
  yield* limitAdoption(hello.endpoint, hello.oseq.hot, isNewer);
  const epoch = yield* linkEpoch(link);
  const snapshot = yield* planSnapshot(link, { ...hello, isSame: hello.epoch === epoch }, now);
  const { sess, inc } = link;
  const up = {
    bulk: { hw: link.bulkHw, tail: link.bulkTail },
    hot: { hw: link.hotHw, tail: link.hotTail },
  };
  return {
    welcome: { t: "welcome", sess, epoch, ct: now, inc, up, resync: snapshot, credit },
    cursor: {
      endpoint: hello.endpoint,
      sess,
      types: hello.types,
      sentTo: hello.recv,
      lateSentTo: 0,
      resultsSentTo: isNewer ? 0 : Math.min(hello.decided, link.hotHw),
      needsCheckpoint: hello.applied < hello.recv || snapshot !== null,
      needsDigests: snapshot !== null,
      snapshot,
    },
    isCurrent: hello.inc === inc,
    commandHighWatermark: hello.epoch === epoch ? hello.cmdHw : 0,
    lost,
  };
}

/** Adoption covers edits made before the first connection; an older copy has them under other numbers. */
function* limitAdoption(endpoint: string, newest: number, isNewer: boolean): TransactionProgram<void> {
  const adoption = yield* getRecord(ADOPTIONS, endpoint);
  if (adoption && (adoption.upTo === null || isNewer)) yield* putRecord(ADOPTIONS, { endpoint, upTo: newest });
}

/** The position of an appliance is valid for one epoch of the feed and one set of scopes. */
function* linkEpoch({ given }: LinkRecord): TransactionProgram<string> {
  const { epoch } = yield* readFeedHead();
  return `${epoch}/${given}`;
}

/** Sets the scopes of an appliance (null: all) from its next connection on, and ends the present one. */
export function* setSiteScopes(endpoint: string, scopes: readonly string[] | null): TransactionProgram<void> {
  const link = (yield* getRecord(LINK_RECORDS, endpoint)) ?? newLinkRecord(endpoint);
  yield* putRecord(LINK_RECORDS, { ...link, sess: link.sess + 1, scopes, given: link.given + 1 });
}

/** Records the position of an appliance. */
export function* recordApplied(endpoint: string, sess: number, applied: number, now: number): TransactionProgram<void> {
  const link = yield* getRecord(LINK_RECORDS, endpoint);
  if (link?.sess === sess)
    yield* putRecord(LINK_RECORDS, { ...link, applied: Math.max(link.applied, applied), seen: now });
}
