import type { SiteLink } from "../../src/replication/hub/tables.ts";
import type { LinkState } from "../../src/replication/site/tables.ts";
import { productIds, type Work } from "../../src/replication/work.ts";
import type { Watched } from "./oracle.ts";

/** Watches how positions in the feeds move. */
export interface Steps {
  /** A frame came to the cloud from an appliance, or to it. */
  arrived(at: "cloud" | "site", name: string, frame: unknown): void;
  /** The cloud notes up to where it has the feeds of an appliance. */
  taken(link: SiteLink): void;
  /** An appliance notes where it stands; `site` still has where it stood. */
  received(site: Watched, link: LinkState): void;
  /** The cloud is an older copy of itself. */
  cloudRestored(): void;
}

/** Makes it; `fail` is told of each step that was not made by a page. */
export function createSteps(fail: (what: string) => void): Steps {
  /** Pages that arrived, by feed and appliance, as the numbers that they lead from and to. */
  const pages = new Set<string>();
  /** Up to where the cloud has the feeds of the appliances. */
  let taken = new Map<string, SiteLink>();
  /** Positions are moved on by pages alone that begin where the one before ended. */
  function checkStep(feed: string, name: string, from: number, to: number): void {
    if (from !== to && !pages.has(`${feed} ${name} ${from} ${to}`))
      fail(`I7: ${feed} of ${name} moved from ${from} to ${to} without a page`);
  }
  function checkTaken(link: SiteLink): void {
    const before = taken.get(link.endpoint);
    taken.set(link.endpoint, link);
    if (before?.inc !== link.inc) return;
    checkStep("up.bulk", link.endpoint, before.bulkHw, link.bulkHw);
    checkStep("up.hot", link.endpoint, before.hotHw, link.hotHw);
  }
  function checkReceived({ name, link: before }: Watched, link: LinkState): void {
    if (!before || (link.snapEnded === 1 && before.snapEnded === 0)) return;
    checkStep("down.bulk", name, before.recv, link.recv);
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
function* holdsNothing(): Work<boolean> {
  for (const type of ["people", "rooms", "lists"]) {
    if ((yield* productIds(type, null, 1)).length > 0) return false;
  }
  return true;
}

/** Watches that a resync leaves no appliance without rows: call what it returns after each commit. */
export function createResyncWatch(fail: (what: string) => void): (site: Watched) => void {
  /** Appliances whose resync is being applied: whether there were rows before, and whether there were none meanwhile. */
  const resyncing = new Map<string, { hadRows: boolean; wasEmpty: boolean }>();
  return (site) => {
    const isApplying = site.link?.marking != null && site.link.snapTo !== null;
    const known = resyncing.get(site.name);
    if (!known && !isApplying) return;
    const isEmpty = site.machine.disk.peek(holdsNothing);
    if (isApplying && !known) resyncing.set(site.name, { hadRows: !isEmpty, wasEmpty: false });
    if (known && isEmpty) known.wasEmpty = true;
    if (isApplying || !known) return;
    resyncing.delete(site.name);
    if (known.hadRows && known.wasEmpty && !isEmpty) fail(`I10: a resync left ${site.name} without rows for a while`);
  };
}
