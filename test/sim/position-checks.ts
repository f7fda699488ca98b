import type { LinkRecord } from "../../src/sync/hub/tables.ts";
import type { SyncState } from "../../src/sync/site/tables.ts";
import { listProductIds, type TransactionProgram } from "../../src/sync/storage/transaction-program.ts";
import type { ObservedSite } from "./oracle.ts";

/** Watches how positions in the feeds move. */
export interface PositionChecks {
  /** A frame came to the cloud from an appliance, or to it. */
  arrived(at: "cloud" | "site", name: string, frame: unknown): void;
  /** The cloud notes up to where it has the feeds of an appliance. */
  taken(link: LinkRecord): void;
  /** An appliance notes where it stands; `site` still has where it stood. */
  received(site: ObservedSite, link: SyncState): void;
  /** The cloud is an older copy of itself. */
  cloudRestored(): void;
}

/** Makes it; `fail` is told of each step that was not made by a page. */
export function createPositionChecks(fail: (what: string) => void): PositionChecks {
  /** Pages that arrived, by feed and appliance, as the numbers that they lead from and to. */
  const pages = new Set<string>();
  /** Up to where the cloud has the feeds of the appliances. */
  let taken = new Map<string, LinkRecord>();
  /** Positions are moved on by pages alone that begin where the one before ended. */
  function checkStep(feed: string, name: string, from: number, to: number): void {
    if (from !== to && !pages.has(`${feed} ${name} ${from} ${to}`))
      fail(`I7: ${feed} of ${name} moved from ${from} to ${to} without a page`);
  }
  function checkTaken(link: LinkRecord): void {
    const before = taken.get(link.endpoint);
    taken.set(link.endpoint, link);
    if (before?.inc !== link.inc) return;
    checkStep("up.bulk", link.endpoint, before.bulkHw, link.bulkHw);
    checkStep("up.hot", link.endpoint, before.hotHw, link.hotHw);
  }
  function checkReceived({ name, link: before }: ObservedSite, link: SyncState): void {
    if (!before || (link.snapshotEnded === 1 && before.snapshotEnded === 0)) return;
    checkStep("down.bulk", name, before.received, link.received);
  }

  return {
    arrived(at, name, frame) {
      const { t, feed, from, to } = frame as { t: string; feed?: string; from?: number; to?: number };
      const isOfFeed = t === "rows" && (feed === "down.bulk") === (at === "site");
      if (isOfFeed) pages.add(`${feed} ${name} ${from} ${to}`);
    },
    taken: checkTaken,
    received: checkReceived,
    cloudRestored() {
      taken = new Map();
    },
  };
}

/** Whether none of the cloud's rows is shown, under whatever name. */
function* hasNoRows(): TransactionProgram<boolean> {
  for (const type of ["people", "rooms", "lists"]) {
    if ((yield* listProductIds(type, null, 1)).length > 0) return false;
  }
  return true;
}

/** Watches that a resync leaves no appliance without rows: call what it returns after each commit. */
export function createResyncCheck(fail: (what: string) => void): (site: ObservedSite) => void {
  /** Appliances whose resync is being applied: whether there were rows before, and whether there were none meanwhile. */
  const resyncing = new Map<string, { hadRows: boolean; wasEmpty: boolean }>();
  return (site) => {
    const isApplying = site.link?.applyingCheckpoint != null && site.link.snapshotHead !== null;
    const known = resyncing.get(site.name);
    if (!known && !isApplying) return;
    const isEmpty = site.machine.disk.peek(hasNoRows);
    if (isApplying && !known) resyncing.set(site.name, { hadRows: !isEmpty, wasEmpty: false });
    if (known && isEmpty) known.wasEmpty = true;
    if (isApplying || !known) return;
    resyncing.delete(site.name);
    if (known.hadRows && known.wasEmpty && !isEmpty) fail(`I10: a resync left ${site.name} without rows for a while`);
  };
}
