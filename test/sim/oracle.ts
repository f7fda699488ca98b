import {
  DECIDED_EDITS,
  type DecidedEdit,
  FEED_HEAD,
  FEED_RECORDS,
  type FeedHead,
  type FeedRecord,
  ISSUED_COMMANDS,
  LINK_RECORDS,
  type LinkRecord,
  WAITING_ROWS,
} from "../../src/sync/hub/tables.ts";
import type { Lease, SyncCommand } from "../../src/sync/protocol/frames.ts";
import { COMMAND_INBOX, type InboxCommand } from "../../src/sync/site/command-inbox.ts";
import {
  APPLIED_VERSIONS,
  type AppliedVersion,
  LOCAL_EDITS,
  REFUSED_ROWS,
  type RefusedRowRecord,
  STAGED_ROWS,
  SYNC_STATE,
  type SyncState,
} from "../../src/sync/site/tables.ts";
import {
  getRecord,
  type RowBody,
  type StoreOperation,
  scanRecords,
} from "../../src/sync/storage/transaction-program.ts";
import type { ExecutedOperation, SimulatedMachine } from "./machine.ts";
import { createPositionChecks, createResyncCheck, type PositionChecks } from "./position-checks.ts";
import { activityTotals, findRowDifference, readComparedRows, SCOPES, siteStateRows } from "./row-comparison.ts";

/** A broken promise. */
export class Violation extends Error {}

/** What the oracle remembers of an appliance. */
export interface ObservedSite {
  name: string;
  machine: SimulatedMachine;
  link: SyncState | null;
  /** Rows were taken from its disk behind its back. */
  isRotten: boolean;
  sounded: Map<string, number[]>;
  restoredAt: number;
  /** Restored as an image of the disk, of which the copy was not told. */
  rawRestoredAt: number;
  /** How wrong the clock was that such an image was written by, until the cloud is heard. */
  imageSkewMs: number | null;
  diedAt: number;
  bornAt: number;
  /** Commands that waited for their turn: since when, and how much later it may have been for all that the appliance knew. */
  armed: Map<string, { at: number; aheadMs: number }>;
  /** By how much what it takes for the latest that it can be is ahead of the true time, ms. */
  aheadMs(): number;
  cancelled: Map<string, number>;
  /** Facts that were made here; those lost with the disk are taken out. */
  facts: Map<string, number>;
  edits: Set<string>;
  leases: Map<string, { term: number; until: number; since: number }>;
  /** Rows that marks wrote or removed. */
  applied: number;
}

/** The state of the cloud's feed that the oracle keeps beside it. */
interface Timeline {
  epoch: string;
  bySeq: FeedRecord[];
  facts: Map<string, number>;
  decided: Map<string, string>;
}

/** Watches frames, commits and sounds, and says when a promise is broken. */
export interface Oracle extends Pick<PositionChecks, "arrived"> {
  cloudCommitted(performed: readonly ExecutedOperation[]): void;
  siteCommitted(site: ObservedSite, performed: readonly ExecutedOperation[]): void;
  sounded(site: ObservedSite, command: SyncCommand): void;
  /** `leftMs`: for so long the appliance takes itself for the holder. */
  leased(site: ObservedSite, lease: Lease, leftMs: number, others: readonly ObservedSite[]): void;
  /** To be kept with a backup of the cloud, and given back with it. */
  timeline(): Timeline;
  cloudRestored(to: Timeline): void;
  /** The cloud's rows of a resource as they are now, by id. */
  liveRows(type: string): readonly (FeedRecord & { body: RowBody })[];
  /** After all faults are over. */
  settled(cloud: SimulatedMachine, sites: readonly ObservedSite[], issued: ReadonlyMap<string, IssuedByTest>): void;
  readonly marks: number;
  /** The newest number of the cloud's feed. */
  readonly head: number;
  readonly resyncs: number;
}

/** A command as it was issued. */
export interface IssuedByTest {
  command: SyncCommand;
  /** Appliances in order of rank; empty for a command of one. */
  group: readonly string[];
  cancelledAt: number | null;
}

/** Whether a row's version is noted that was refused before; `again` is that one. */
function isRefusedAgain(statement: StoreOperation, again: string | null): boolean {
  if (again === null) return false;
  const { type, id } = statement.do === "put" ? (statement.record as AppliedVersion) : keyOf(statement);
  return again.startsWith(`${type}/${id}/`);
}

/** Before a sweep leaves a row, as a newer version of it waits, or puts off that it goes, as something refers to it. */
function isPassedOver(before: ExecutedOperation | undefined): boolean {
  if (before?.statement.do === "put") return before.statement.of.name === STAGED_ROWS.name;
  return before?.statement.do === "get" && before.statement.of.name === STAGED_ROWS.name && before.answer !== null;
}

function keyOf(statement: StoreOperation): { type: string; id: string } {
  const [type, id] = statement.do === "drop" ? statement.key : [];
  return { type: String(type), id: String(id) };
}

/** Makes the oracle; it tells `violated` of each broken promise. `now` is true time. */
export function createOracle(now: () => number, violated: (violation: Violation) => void): Oracle {
  let timeline: Timeline = { epoch: "", bySeq: [], facts: new Map(), decided: new Map() };
  let marks = 0;
  let resyncs = 0;
  let cloudRestoredAt = 0;

  const fail = (what: string): void => violated(new Violation(what));
  const steps = createPositionChecks(fail);
  const checkNotEmptied = createResyncCheck(fail);

  /** Live rows as they were at each number that is asked for, moved on from the one before. */
  const states = new Map<string, { of: Timeline; at: number; rows: Map<string, FeedRecord> }>();
  function stateAt(upTo: number, by: string): ReadonlyMap<string, FeedRecord> {
    const known = states.get(by);
    const from = known && known.of === timeline && known.at <= upTo ? known : { at: -1, rows: new Map() };
    for (let at = from.at + 1; at <= upTo; at += 1) {
      const row = timeline.bySeq[at];
      if (row?.gone) from.rows.delete(`${row.type}/${row.id}`);
      else if (row) from.rows.set(`${row.type}/${row.id}`, row);
    }
    states.set(by, { of: timeline, at: upTo, rows: from.rows });
    return from.rows;
  }

  /** What an appliance shows is not what it should, with each of the parts that it may have been given; null if it is with one. */
  function difference(site: ObservedSite, upTo: number, parts: typeof SCOPES): string | null {
    const state = stateAt(upTo, site.name);
    const all = site.machine.disk.peek(readComparedRows);
    let first: string | null = null;
    for (const scopes of parts) {
      const found = findRowDifference(all, state, scopes);
      if (found === null) return null;
      first ??= found;
    }
    return first;
  }

  function checkMark(site: ObservedSite, applied: number): void {
    marks += 1;
    if (site.isRotten || site.link?.epoch?.split("/")[0] !== timeline.epoch) return;
    // Which of them held when the mark was read, only the cloud knows.
    const differs = difference(site, applied, SCOPES);
    if (differs) fail(`I2: ${site.name} at mark ${applied}: ${differs}`);
  }

  return {
    get head() {
      return Math.max(0, timeline.bySeq.length - 1);
    },
    get marks() {
      return marks;
    },
    get resyncs() {
      return resyncs;
    },
    arrived: steps.arrived,
    cloudCommitted(performed) {
      for (const { statement, answer } of performed) {
        if (statement.do === "apply" && answer === "done" && statement.type === "reports" && statement.body) {
          timeline.facts.set(statement.id, (timeline.facts.get(statement.id) ?? 0) + 1);
        }
        if (statement.do !== "put") continue;
        const name = statement.of.name;
        if (name === FEED_RECORDS.name) {
          const row = statement.record as FeedRecord;
          timeline.bySeq[row.seq] = row;
        } else if (name === FEED_HEAD.name) timeline.epoch = (statement.record as FeedHead).epoch;
        else if (name === LINK_RECORDS.name) steps.taken(statement.record as LinkRecord);
        else if (name === DECIDED_EDITS.name) {
          const { uid, result } = statement.record as DecidedEdit;
          const before = timeline.decided.get(uid);
          if (before !== undefined && before !== result) fail(`I6: ${uid} was decided twice`);
          timeline.decided.set(uid, result);
        }
      }
    },
    siteCommitted(site, performed) {
      let applied: number | null = null;
      const wasMarking = site.link?.applyingCheckpoint != null;
      /** A row that is refused again, which was told when it was refused first. */
      let again: string | null = null;
      for (const [at, { statement, answer }] of performed.entries()) {
        if (statement.do === "get" && statement.of.name === REFUSED_ROWS.name) {
          const known = answer as RefusedRowRecord | null;
          again = known && `${known.type}/${known.id}/${known.seq}`;
        } else if (statement.do === "drop" && statement.of.name === REFUSED_ROWS.name) again = null;
        else if (statement.do === "put" && statement.of.name === REFUSED_ROWS.name) {
          const { type, id, seq } = statement.record as RefusedRowRecord;
          if (again !== `${type}/${id}/${seq}`) again = null;
        }
        if (statement.do === "put" && statement.of.name === SYNC_STATE.name) {
          const link = statement.record as SyncState;
          if (site.link?.applyingCheckpoint && !link.applyingCheckpoint) applied = link.applied;
          if (link.snapshotHead !== null && site.link?.snapshotHead === null) resyncs += 1;
          steps.received(site, link);
          site.link = link;
        } else if (statement.do === "put" && statement.of.name === COMMAND_INBOX.name) {
          const { cid, state } = statement.record as InboxCommand;
          if (state === "armed" && !site.armed.has(cid)) site.armed.set(cid, { at: now(), aheadMs: site.aheadMs() });
          if (state === "cancelled") site.cancelled.set(cid, now());
        } else if ((statement.do === "put" || statement.do === "drop") && statement.of.name === APPLIED_VERSIONS.name) {
          if (!isRefusedAgain(statement, again) && !isPassedOver(performed[at - 1])) site.applied += 1;
          again = null;
          if (!wasMarking && !site.isRotten) fail(`I2: rows of ${site.name} changed without a mark`);
        }
      }
      checkNotEmptied(site);
      if (applied !== null) checkMark(site, applied);
    },
    sounded(site, command) {
      const { cid, notAfter } = command;
      // An image can't know that the clock was set back since.
      const setBackMs = site.imageSkewMs === null ? 0 : Math.max(0, site.imageSkewMs - site.machine.fault.skewMs);
      if (now() > notAfter + setBackMs) fail(`I3: ${site.name} sounded ${cid} ${now() - notAfter} ms too late`);
      const cancelled = site.cancelled.get(cid);
      if (cancelled !== undefined && cancelled < now() && site.restoredAt <= cancelled)
        fail(`I3: ${site.name} sounded ${cid} though cancelled`);
      const before = site.sounded.get(cid) ?? [];
      const last = before.at(-1);
      site.sounded.set(cid, [...before, now()]);
      if (last === undefined) return;
      const wasRestored = site.rawRestoredAt > last || (site.restoredAt > last && cloudRestoredAt > last);
      if (command.class === "emergency" ? site.diedAt < last : !wasRestored) {
        fail(`I3: ${site.name} sounded ${cid} (${command.class}) again`);
      }
    },
    leased(site, lease, leftMs, others) {
      site.imageSkewMs = null;
      if (lease.holder !== site.name || leftMs <= 0) return;
      const known = [site, ...others].flatMap(({ leases }) => leases.get(lease.group) ?? []);
      if (known.some(({ term }) => term > lease.term)) fail(`leases: the term of ${lease.group} fell`);
      const holds = others.find(({ leases, diedAt }) => {
        const held = leases.get(lease.group);
        return held && held.until > now() && diedAt < held.since;
      });
      if (holds) fail(`leases: ${holds.name} and ${site.name} hold ${lease.group}`);
      site.leases.set(lease.group, { term: lease.term, until: now() + leftMs, since: now() });
    },
    timeline: () => ({
      epoch: timeline.epoch,
      bySeq: [...timeline.bySeq],
      facts: new Map(timeline.facts),
      decided: new Map(timeline.decided),
    }),
    cloudRestored(to) {
      // Until the copy begins an epoch of its own, what appliances still hold is of another time.
      timeline = { epoch: "", bySeq: [...to.bySeq], facts: new Map(to.facts), decided: new Map(to.decided) };
      cloudRestoredAt = now();
      steps.cloudRestored();
    },
    liveRows(type) {
      const rows = [...stateAt(timeline.bySeq.length - 1, "").values()].filter((row) => row.type === type);
      return rows.sort((a, b) => (a.id < b.id ? -1 : 1)) as (FeedRecord & { body: RowBody })[];
    },
    settled(cloud, sites, issued) {
      const head = cloud.disk.peek(() => getRecord(FEED_HEAD, "head")) as FeedHead;
      for (const site of sites) {
        const { disk } = site.machine;
        const link = disk.peek(() => getRecord(SYNC_STATE, "link")) as SyncState;

        if (link.applied !== head.seq) fail(`I1: ${site.name} stands at ${link.applied}, the cloud at ${head.seq}`);
        const { scopes } = cloud.disk.peek(() => getRecord(LINK_RECORDS, site.name)) as LinkRecord;
        const differs = difference(site, head.seq, [scopes]);
        if (differs) fail(`I1: ${site.name}: ${differs}`);
        const parked = disk.peek(() => scanRecords(REFUSED_ROWS));
        if (parked.length > 0) fail(`I5: ${site.name} could not write ${JSON.stringify(parked[0])}`);
        const open = disk.peek(() => scanRecords(LOCAL_EDITS, { by: "open", where: ["pending"] }));
        if (open.length > 0) fail(`I6: ${site.name} never learnt what became of ${open[0]?.uid}`);
        if (link.bulkAcked !== link.bulkSeq || link.hotAcked !== link.hotSeq) fail(`I4: ${site.name} did not send all`);
        for (const fact of site.facts.keys()) {
          if (timeline.facts.get(fact) !== 1)
            fail(`I4: ${fact} of ${site.name} is in the cloud ${timeline.facts.get(fact) ?? 0} times`);
        }
        for (const uid of site.edits)
          if (!timeline.decided.has(uid)) fail(`I6: ${uid} of ${site.name} was never decided`);
      }
      for (const site of sites) {
        const own = siteStateRows(site.machine.disk);
        const told = new Map(siteStateRows(cloud.disk, site.name));
        for (const [id, text] of own) {
          if (told.get(id) !== text) fail(`state: ${id} of ${site.name} is ${told.get(id)} in the cloud, not ${text}`);
          told.delete(id);
        }
        const [old] = told.keys();
        if (old) fail(`state: ${old} of ${site.name} is in the cloud alone`);
        if (!site.isRotten && site.restoredAt === 0) {
          const { sums, applied } = activityTotals(site);
          if (sums !== applied) fail(`activities: ${site.name} applied ${applied} rows and tells of ${sums}`);
        }
      }
      const waiting = cloud.disk.peek(() => scanRecords(WAITING_ROWS));
      if (waiting.length > 0) fail(`I4: the cloud could not write ${JSON.stringify(waiting[0])}`);
      const isHeld = sites.some(({ leases }) => (leases.get("group")?.until ?? 0) > now());
      if (!isHeld) fail("leases: nobody holds group though all is well");
      for (const { endpoint, cid, outcome, open, saidBy } of cloud.disk.peek(() => scanRecords(ISSUED_COMMANDS))) {
        const site = sites.find(({ name }) => name === endpoint) as ObservedSite;
        if (open || !outcome) fail(`I8: nothing is known of ${cid} at ${endpoint}`);
        const isAsItWas = site.restoredAt === 0 && cloudRestoredAt === 0;
        if (isAsItWas && outcome === "unknown" && saidBy === "site")
          fail(`I8: ${endpoint} does not know its own ${cid}`);
        const command = issued.get(cid);
        if (outcome === "done" && command?.command.kind === "broadcast" && !site.sounded.has(cid)) {
          fail(`I3: ${cid} at ${endpoint} is said to be done and never sounded`);
        }
      }
      for (const [cid, { command, group, cancelledAt }] of issued) {
        if (command.class !== "emergency" || group.length === 0 || cancelledAt !== null) continue;
        if (sites.some((site) => site.sounded.has(cid))) continue;
        for (const site of sites) {
          const armed = site.armed.get(cid);
          if (!armed) continue;
          // It sounds nothing that may be out of date: the answer that told it the time may have been under way for long.
          const turn = armed.at + armed.aheadMs + 3_000 * group.indexOf(site.name) + 500;
          const wasThere = site.bornAt < armed.at && turn < command.notAfter && site.diedAt < armed.at;
          if (wasThere) fail(`I11: ${site.name} was there and nobody sounded ${cid}`);
        }
      }
    },
  };
}
