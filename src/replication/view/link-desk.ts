import type { Clock } from "../../base/clock.ts";
import { CallerError, ConflictError, notFound } from "../../base/errors.ts";
import { offeredUpgrade } from "../../operations/ordered-upgrade.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/onprem.ts";
import type { Catalogue } from "../../schema/catalogue.ts";
import type { By, Scope, Store } from "../../store/store.ts";
import { CONFLICTS, type Conflict } from "../hub/tables.ts";
import type { OpenCode } from "../identity/enrolment.ts";
import type { HubLink } from "../link/hub-link.ts";
import type { EnrolmentOrder, LinkReport, SiteLink } from "../link/site-link.ts";
import { EDITS, LINK, type LinkState, type OwnEdit } from "../site/tables.ts";
import type { SqliteWork } from "../sqlite-work.ts";
import type { UpgradeWaves } from "../upgrades/upgrade-waves.ts";
import { drop, get, scan, type Work } from "../work.ts";
import { type ApplianceShown, appliancesShown } from "./appliances.ts";
import { type ConflictShown, conflictShown, takeSitesValue } from "./conflicts.ts";
import { type RefusedRow, refusedRows, type SiteQueue, siteQueue } from "./site-queue.ts";

/** How this daemon stands to the others of its organisation. Times are epoch ms. */
export interface LinkOverview {
  role: "appliance" | "hub";
  endpointId: string;
  /** Null where it was never enrolled, and at the cloud itself. */
  report: LinkReport | null;
  /** Where it stands in the feeds; null as above. */
  position: Pick<LinkState, "applied" | "recv" | "bulkSeq" | "bulkAcked" | "hotSeq" | "hotAcked"> | null;
  /** All rows are being fetched anew. */
  isResyncing: boolean;
  queue: SiteQueue | null;
  refused: RefusedRow[];
}

/** What people see of links to other daemons, and do about them. All of it throws CallerError and ConflictError in words. */
export interface LinkDesk {
  overview(): LinkOverview;
  /** The daemon starts anew then. Throws UpstreamError too. */
  enrol(given: EnrolmentOrder): Promise<{ endpoint: string }>;
  /** The daemon starts anew then. */
  leave(): Promise<void>;
  /** The newest edits that lost and whose rows somebody sees, the newest first, and how many more were kept. */
  conflicts(scope: Scope): { shown: ConflictShown[]; more: number };
  takeSites(conflictId: string, by: By): Promise<void>;
  /** The present values stay: the conflict is forgotten at this side. */
  keepPresent(conflictId: string, scope: Scope): Promise<void>;
  appliances(): Promise<ApplianceShown[]>;
  /** Version that lies ready for appliances; null when none does. */
  offeredVersion(): string | null;
  upgrades(): UpgradeWaves;
  codes(): OpenCode[];
  offer(endpoint: string | null): Promise<{ code: string; until: number }>;
  withdraw(codeId: string): Promise<void>;
  revoke(endpoint: string): Promise<void>;
}

/** What the desk needs. */
export interface LinkDeskNeeds {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  work: SqliteWork;
  endpointId(): string;
  /** One of them, or none: then the daemon was never linked, and can't be. */
  site: SiteLink | null;
  hub: HubLink | null;
  /** Starts the daemon anew. */
  restart(): void;
}

/** own choice: nobody reads more at once */
const MOST_CONFLICTS = 100;
const LOST = ["conflict", "gone", "refused"] as const;

/** Makes it. */
export function createLinkDesk(needs: LinkDeskNeeds): LinkDesk {
  const { store, catalogue, clock, work, site, hub, endpointId } = needs;
  const seen = { reader: store, catalogue, store };

  const theHub = (): HubLink => {
    if (hub) return hub;
    throw new ConflictError("This is an appliance: the cloud of the organisation does that.");
  };
  const theSite = (): SiteLink => {
    if (site) return site;
    throw new ConflictError("This is the cloud itself: it is linked to no other.");
  };
  /** An edit is kept under the same name at both ends. */
  const found = (id: string, scope: Scope): Conflict => {
    const lost = work.peek(() => (hub ? get(CONFLICTS, id) : ownLost(id, endpointId())));
    if (!lost || !conflictShown(lost, scope, seen)) throw notFound();
    return lost;
  };
  const forget = (id: string): Promise<void> => work.transact(() => (hub ? drop(CONFLICTS, id) : drop(EDITS, id)));

  return {
    overview() {
      const report = site?.report() ?? null;
      const state = report?.hub ? work.peek(() => get(LINK, "link")) : null;
      return {
        role: hub ? "hub" : "appliance",
        endpointId: endpointId(),
        report,
        position: state,
        isResyncing: state !== null && (state.snapTo !== null || state.fresh === 1),
        queue: state && siteQueue(store, state),
        refused: state ? refusedRows(store) : [],
      };
    },
    async enrol(given) {
      const made = await theSite().enrol(given);
      clock.soon(needs.restart);
      return made;
    },
    async leave() {
      if (!theSite().report().hub) throw new ConflictError("The appliance stands alone already.");
      await theSite().leave();
      clock.soon(needs.restart);
    },
    conflicts(scope) {
      const all = work.peek(() => (hub ? newestLost() : newestOwnLost(endpointId())));
      const shown = all.slice(0, MOST_CONFLICTS).flatMap((lost) => conflictShown(lost, scope, seen) ?? []);
      return { shown, more: Math.max(0, all.length - MOST_CONFLICTS) };
    },
    async takeSites(conflictId, by) {
      await takeSitesValue(found(conflictId, by.scope), by, seen);
      await forget(conflictId);
    },
    async keepPresent(conflictId, scope) {
      found(conflictId, scope);
      await forget(conflictId);
    },
    async appliances() {
      if (!hub) throw notFound();
      return appliancesShown({ reader: store, clock, ownId: endpointId, connected: hub.connected });
    },
    offeredVersion: () => offeredUpgrade(store)?.version ?? null,
    upgrades() {
      if (!hub) throw notFound();
      return hub.upgrades;
    },
    codes() {
      if (!hub) throw notFound();
      return hub.codes();
    },
    async offer(endpoint) {
      if (endpoint !== null && !isAppliance(endpoint)) throw notFound();
      return theHub().offer(endpoint);
    },
    async withdraw(codeId) {
      if (!(await theHub().withdraw(codeId))) throw notFound();
    },
    async revoke(endpoint) {
      if (!isAppliance(endpoint)) throw notFound();
      await theHub().revoke(endpoint);
    },
  };

  function isAppliance(id: string): boolean {
    if (id === endpointId()) throw new CallerError("invalid-value", "This is the cloud itself.");
    return store.get(endpoints, id)?.extensionId === ONPREM_EXTENSION_ID;
  }
}

const MOST_KEPT = 1_000;

function newestLost(): Work<Conflict[]> {
  return scan(CONFLICTS, { newestFirst: true, limit: MOST_KEPT });
}

function* newestOwnLost(endpoint: string): Work<Conflict[]> {
  const edits: OwnEdit[] = [];
  for (const state of LOST) {
    edits.push(...(yield* scan(EDITS, { by: "open", where: [state], newestFirst: true, limit: MOST_KEPT })));
  }
  const newest = edits.sort((a, b) => b.at - a.at);
  return newest.slice(0, MOST_KEPT).map((edit) => ({ ...edit, endpoint }));
}

function* ownLost(uid: string, endpoint: string): Work<Conflict | null> {
  const edit = yield* get(EDITS, uid);
  return edit && (LOST as readonly string[]).includes(edit.state) ? { ...edit, endpoint } : null;
}
