import type { Clock } from "../lib/clock.ts";
import { CallerError, ConflictError, invalidValue, notFound } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { offeredUpgrade } from "../ops/upgrade/remote-upgrade.ts";
import endpoints from "../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import domains from "../resources/domains/domains.ts";
import type { StagedRollouts } from "../rollout/staged-rollouts.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AccessScope, ActorContext, Store } from "../store/store.ts";
import { EDIT_CONFLICTS, type EditConflict } from "../sync/hub/tables.ts";
import type { CodeBinding, OpenEnrolmentCode } from "../sync/identity/enrolment-records.ts";
import { listRefusedRows, type RefusedRow, readQueueStatus, type SiteQueueStatus } from "../sync/site/queue-status.ts";
import { LOCAL_EDITS, type LocalEditRecord, SYNC_STATE, type SyncState } from "../sync/site/tables.ts";
import type { SqliteProgramRunner } from "../sync/storage/sqlite-program-runner.ts";
import { deleteRecord, getRecord, scanRecords, type TransactionProgram } from "../sync/storage/transaction-program.ts";
import { type ApplianceStatus, listApplianceStatuses } from "./appliance-status.ts";
import { acceptSiteValue, type ConflictView, viewConflict } from "./edit-conflicts.ts";
import type { HubLink } from "./hub-link.ts";
import type { HandOverAppliance, SecretConsentInput } from "./secret-hand-over/hub-hand-over.ts";
import type { NamedSecretTask } from "./secret-tasks.ts";
import type { EnrolmentOptions, LinkReport, SiteLink } from "./site-link.ts";

/** Role and link of this daemon. Times are epoch ms. */
export interface LinkOverview {
  role: "appliance" | "hub";
  endpointId: string;
  /** Null if it was never enrolled, and on the cloud. */
  report: LinkReport | null;
  /** Positions in the feeds; null as above. */
  position: Pick<SyncState, "applied" | "received" | "bulkSeq" | "bulkAcked" | "hotSeq" | "hotAcked"> | null;
  /** A full resync is requested or running. */
  isResyncing: boolean;
  queue: SiteQueueStatus | null;
  refused: RefusedRow[];
  /** Secrets to enter at this appliance. */
  secretTasks: NamedSecretTask[];
}

/** Administration of links. Methods throw CallerError and ConflictError. */
export interface LinkAdminService {
  overview(): LinkOverview;
  /** Restarts the daemon. Also throws UpstreamError. */
  enrol(given: EnrolmentOptions): Promise<{ endpoint: string }>;
  /** Restarts the daemon. */
  leave(): Promise<void>;
  /** Sends the rows of the first sync again that the cloud refused; returns their number. */
  retryInitialSync(): Promise<number>;
  /** Ends the first sync although rows differ. */
  acceptInitialSync(): Promise<void>;
  /** The newest conflicts that are visible, newest first, and how many more there are. */
  conflicts(scope: AccessScope): { shown: ConflictView[]; more: number };
  acceptSiteValue(conflictId: string, by: ActorContext): Promise<void>;
  /** Keeps the present values: deletes the conflict on this side. */
  keepCurrentValue(conflictId: string, scope: AccessScope): Promise<void>;
  appliances(): Promise<ApplianceStatus[]>;
  /** Version of the upgrade on offer; null if there is none. */
  offeredVersion(): string | null;
  upgrades(): StagedRollouts;
  listEnrolmentCodes(): OpenEnrolmentCode[];
  createEnrolmentCode(binding: CodeBinding): Promise<{ code: string; until: number }>;
  /** Binds an appliance to domains (null: the whole organisation). */
  bindToDomains(endpoint: string, domainIds: readonly string[] | null): Promise<void>;
  withdrawEnrolmentCode(codeId: string): Promise<void>;
  /** Appliances that serve a cluster, and whether its secrets are handed to them. Cloud only. */
  secretAppliances(clusterId: string): HandOverAppliance[];
  /** Has the secrets of a cluster handed to exactly these appliances, sealed for their keys. Cloud only. */
  setSecretConsent(clusterId: string, given: SecretConsentInput, by: ActorContext): Promise<void>;
  revoke(endpoint: string): Promise<void>;
}

export interface LinkAdminServiceDeps {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  runner: SqliteProgramRunner;
  endpointId(): string;
  /** At most one is set; with none the daemon cannot be linked. */
  site: SiteLink | null;
  hub: HubLink | null;
  /** Restarts the daemon. */
  restart(): void;
}

/** @source docs/decisions/0300-sync-limits.md */
const MAX_CONFLICTS = 100;
const LOST_STATES = ["conflict", "gone", "refused"] as const;

export function createLinkAdminService(deps: LinkAdminServiceDeps): LinkAdminService {
  const { store, catalogue, clock, runner, site, hub, endpointId } = deps;
  const seen = { reader: store, catalogue, store };

  const requireHub = (): HubLink => {
    if (hub) return hub;
    throw new ConflictError(sentence("error.not-available-on-an-appliance-use-the-cloud-of-the-organisation"));
  };
  const requireSite = (): SiteLink => {
    if (site) return site;
    throw new ConflictError(sentence("error.not-available-on-the-cloud-it-cannot-be-enrolled"));
  };
  /** An edit has the same uid on both sides. */
  const requireConflict = (id: string, scope: AccessScope): EditConflict => {
    const lost = runner.readSync(() => (hub ? getRecord(EDIT_CONFLICTS, id) : localConflict(id, endpointId())));
    if (!lost || !viewConflict(lost, scope, seen)) throw notFound();
    return lost;
  };
  const deleteConflict = (id: string): Promise<void> =>
    runner.transact(() => (hub ? deleteRecord(EDIT_CONFLICTS, id) : deleteRecord(LOCAL_EDITS, id)));

  return {
    overview() {
      const report = site?.report() ?? null;
      const state = report?.hub ? runner.readSync(() => getRecord(SYNC_STATE, "link")) : null;
      return {
        role: hub ? "hub" : "appliance",
        endpointId: endpointId(),
        report,
        position: state,
        isResyncing: state !== null && (state.snapshotHead !== null || state.resyncRequested === 1),
        queue: state && readQueueStatus(store, state),
        refused: state ? listRefusedRows(store) : [],
        secretTasks: site?.secretTasks() ?? [],
      };
    },
    async enrol(given) {
      const made = await requireSite().enrol(given);
      clock.defer(deps.restart);
      return made;
    },
    async leave() {
      if (!requireSite().report().hub) throw new ConflictError(sentence("error.the-appliance-is-not-linked"));
      await requireSite().leave();
      clock.defer(deps.restart);
    },
    retryInitialSync: async () => requireSite().retryInitialSync(),
    acceptInitialSync: async () => requireSite().acceptInitialSync(),
    conflicts(scope) {
      const all = runner.readSync(() => (hub ? newestConflicts() : newestLocalConflicts(endpointId())));
      const shown = all.slice(0, MAX_CONFLICTS).flatMap((lost) => viewConflict(lost, scope, seen) ?? []);
      return { shown, more: Math.max(0, all.length - MAX_CONFLICTS) };
    },
    async acceptSiteValue(conflictId, by) {
      await acceptSiteValue(requireConflict(conflictId, by.scope), by, seen);
      await deleteConflict(conflictId);
    },
    async keepCurrentValue(conflictId, scope) {
      requireConflict(conflictId, scope);
      await deleteConflict(conflictId);
    },
    async appliances() {
      if (!hub) throw notFound();
      return listApplianceStatuses({ reader: store, clock, ownId: endpointId, connected: hub.connected });
    },
    offeredVersion: () => offeredUpgrade(store)?.version ?? null,
    upgrades() {
      if (!hub) throw notFound();
      return hub.upgrades;
    },
    listEnrolmentCodes() {
      if (!hub) throw notFound();
      return hub.listEnrolmentCodes();
    },
    async createEnrolmentCode({ endpoint, domainIds }) {
      if (endpoint !== null && !isAppliance(endpoint)) throw notFound();
      return requireHub().createEnrolmentCode({ endpoint, domainIds: checkDomains(domainIds) });
    },
    async bindToDomains(endpoint, domainIds) {
      if (!isAppliance(endpoint)) throw notFound();
      await requireHub().bindToDomains(endpoint, checkDomains(domainIds));
    },
    async withdrawEnrolmentCode(codeId) {
      if (!(await requireHub().withdrawEnrolmentCode(codeId))) throw notFound();
    },
    secretAppliances(clusterId) {
      if (!hub) throw notFound();
      return hub.secrets.appliances(clusterId);
    },
    setSecretConsent: async (clusterId, given, by) => requireHub().secrets.setConsent(clusterId, given, by),
    async revoke(endpoint) {
      if (!isAppliance(endpoint)) throw notFound();
      await requireHub().revoke(endpoint);
    },
  };

  /** The root domain is the whole organisation. */
  function checkDomains(domainIds: readonly string[] | null): readonly string[] | null {
    const found = (domainIds ?? []).map((id) => store.get(domains, id));
    if (domainIds?.length === 0 || found.includes(null))
      throw invalidValue("domainIds", sentence("field.must-be-ids-of-domains-or-null"));
    return domainIds === null || found.some((domain) => domain?.parentId === null) ? null : [...new Set(domainIds)];
  }

  function isAppliance(id: string): boolean {
    if (id === endpointId())
      throw new CallerError(
        "invalid-value",
        sentence("error.the-endpoint-must-be-an-appliance-it-is-the-cloud-itself"),
      );
    return store.get(endpoints, id)?.extensionId === ONPREM_EXTENSION_ID;
  }
}

const MAX_KEPT = 1_000;

function newestConflicts(): TransactionProgram<EditConflict[]> {
  return scanRecords(EDIT_CONFLICTS, { newestFirst: true, limit: MAX_KEPT });
}

function* newestLocalConflicts(endpoint: string): TransactionProgram<EditConflict[]> {
  const edits: LocalEditRecord[] = [];
  for (const state of LOST_STATES) {
    edits.push(
      ...(yield* scanRecords(LOCAL_EDITS, { by: "open", where: [state], newestFirst: true, limit: MAX_KEPT })),
    );
  }
  const newest = edits.sort((a, b) => b.at - a.at);
  return newest.slice(0, MAX_KEPT).map((edit) => ({ ...edit, endpoint }));
}

function* localConflict(uid: string, endpoint: string): TransactionProgram<EditConflict | null> {
  const edit = yield* getRecord(LOCAL_EDITS, uid);
  return edit && (LOST_STATES as readonly string[]).includes(edit.state) ? { ...edit, endpoint } : null;
}
