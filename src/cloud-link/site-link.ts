import { join } from "node:path";
import { type PeerHeartbeat, parseHeartbeat } from "../failover/heartbeat.ts";
import type { Clock } from "../lib/clock.ts";
import { BugError, ConflictError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import { newId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import type { ResolvedAddress } from "../lib/ssrf-guard.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import type { HealthReason } from "../ops/health/health.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { ActorContext, ChangeCapture, Store, Transaction } from "../store/store.ts";
import { createSiteChangeRecorder } from "../sync/capture/change-recorders.ts";
import { createDeferredLedgerSync, PENDING_LEDGER_TABLE } from "../sync/capture/deferred-ledger-sync.ts";
import { createFileBlobStore } from "../sync/files/blob-store.ts";
import { type EnrolmentResponse, requestEnrolment } from "../sync/identity/enrolment-exchange.ts";
import {
  linkCertificateHealthReasons,
  deleteLocalIdentity,
  enrolAppliance,
  type LocalIdentity,
  readLocalIdentity,
} from "../sync/identity/local-identity.ts";
import { createRevokedKeys, type RevokedKeys } from "../sync/identity/revoked-keys.ts";
import { createInitialSync } from "../sync/initial-sync/initial-sync.ts";
import type { EnrolMode } from "../sync/initial-sync/organisation-baseline.ts";
import { type Lease, SYNC_LIMITS } from "../sync/protocol/frames.ts";
import { productReplicatedTypes } from "../sync/protocol/product-replicated-types.ts";
import { createCommandExecutor } from "../sync/remote-delivery/command-executor.ts";
import { createCheckpointWaiters } from "../sync/site/checkpoint-waiters.ts";
import { createHubControlClient } from "../sync/site/hub-control-client.ts";
import { linkHealthReasons } from "../sync/site/link-health.ts";
import { readQueueStatus } from "../sync/site/queue-status.ts";
import { createSiteSync, type SiteSync } from "../sync/site/site-sync.ts";
import { startStateResend } from "../sync/site/state-resend.ts";
import { createStatusReporter, type StatusReporterDeps } from "../sync/site/status-reporter.ts";
import { initializeSyncState } from "../sync/site/sync-state.ts";
import { SYNC_STATE } from "../sync/site/tables.ts";
import { SITE_COLLECTIONS } from "../sync/storage/collections.ts";
import { createSqliteProgramRunner } from "../sync/storage/sqlite-program-runner.ts";
import { deleteAllRecords, getRecord } from "../sync/storage/transaction-program.ts";
import { createDialer, type Dialer, type DialerState } from "../sync/transport/dialer.ts";
import { assertHubUrl, type HubRoute, hubAddressOf } from "../sync/transport/hub-address.ts";

/** What the appliance's end of the link needs. */
export interface SiteLinkDeps {
  dataDir: string;
  /** Version of this software. */
  version: string;
  health: StatusReporterDeps["health"];
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  events: Events;
  log: Log;
  /** The link as actor of what it writes. */
  by: ActorContext;
  endpointId(): string;
  /** Between 0 and 1. */
  random(): number;
  notificationService(): Pick<NotificationService, "abort" | "resume">;
  recording: { recorder: ChangeCapture | null };
  /** What the machine's owner says of the way to the cloud. */
  route: HubRoute;
  /** Who covers for this appliance, and for whom it does. */
  failover(): LinkFailover;
}

/** A request of the API that the cloud is to carry out. */
export interface ForwardedRequest {
  userId: string;
  /** OAuth 2 scopes of the token; null leaves all the user's rights. */
  scopes: readonly string[] | null;
  method: "POST" | "PUT" | "DELETE";
  /** Path with query. */
  target: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** What the cloud answered. */
export interface ForwardedResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** What covering for neighbours has to do with the link. */
export interface LinkFailover {
  /** Groups whose lease this appliance asks for. */
  wantedLeases(): string[];
  hasContact(): boolean;
  /** `until` is a monotonic moment. */
  onLease(lease: Lease, until: number): void;
  receiveHeartbeat(beat: PeerHeartbeat): void;
  /** Others are trusted than before, or this appliance has another certificate. */
  trustChanged(): void;
}

/** How the link is, as commands and the console show it; times are epoch ms. */
export interface LinkReport {
  /** Base URL of the cloud; null for an appliance that stands alone. */
  hub: string | null;
  mode: "solo" | "cloud";
  link: DialerState | null;
  /** Number of the cloud's feed up to which rows are applied; null without a link. */
  applied: number | null;
  /** Records that wait to go up. */
  queued: number;
  /** Rows of the cloud that were refused here. */
  parked: number;
  /** Epoch ms at which the appliance's certificate ends. */
  certificateUntil: number | null;
}

/** How an appliance is to be enrolled. */
export interface EnrolmentOptions {
  /** Base URL of the cloud. */
  hub: string;
  code: string;
  mode: EnrolMode;
  /** Authority that signed the cloud's certificate, PEM. */
  authority: string | null;
  resolved?: ResolvedAddress;
}

/** The appliance's end of the link. */
export interface SiteLink {
  /** Records what is written from now on; `start` sends it. */
  startRecording(): void;
  start(): Promise<void>;
  report(): LinkReport;
  /** The cloud is connected; costs nothing. */
  isConnected(): boolean;
  /** What of it is not as it should be. */
  healthReasons(): HealthReason[];
  /**
   * Enrols the appliance; it must be started anew then. `found` is where the name in `hub` leads, when that was looked up
   * and judged. Throws CallerError, UpstreamError, and ConflictError when it is linked to another cloud.
   */
  enrol(given: EnrolmentOptions): Promise<{ endpoint: string }>;
  /** Makes the appliance stand alone again, and forgets the link with all that waits to go up; it must be started anew then. */
  leave(): Promise<void>;
  /** Who this appliance is to others; null for one that was never enrolled. */
  identity(): LocalIdentity | null;
  revoked: Pick<RevokedKeys, "has">;
  /**
   * Has the cloud carry out a request of the API in the name of a user; what it changed is here by then. Null when there is
   * no link. Throws UpstreamError: `upstream` in the cloud's words where it refuses, `outcome-unknown` when there is no answer.
   */
  forwardRequest(request: ForwardedRequest): Promise<ForwardedResponse | null>;
  /** Tells neighbours something by the cloud. */
  sendHeartbeat(beat: PeerHeartbeat): void;
  /** A neighbour is heard with a message. */
  peerStarted(id: string): void;
  /** Ends the present connection; another one follows. */
  disconnect(): void;
  stop(): void;
}

/** own choice: rows that are written together, and how long others are in the same transaction: with their behaviours well below 20 ms */
const APPLY_BATCH_ROWS = 20;
const APPLY_BATCH_MS = 4;
/** own choice: the cloud takes a page in one transaction, and is to answer others within 20 ms */
const UPSTREAM_PAGE_ROWS = 50;
const SYNC_ALARM = { alarm: "onprem_delta_sync_error_event", code: "link" } as const;
const CREDENTIAL_ALARM = { alarm: "token_expiration", code: "link" } as const;
/** How often it is looked whether the certificate is to be renewed. own choice */
const RENEWAL_CHECK_MS = 3600_000;
/** The cloud is given so long after a connection to be busy with rows first. own choice */
const SETTLED_MS = 5_000;

/** Makes it; an appliance that was never enrolled does nothing and costs nothing. */
export function createSiteLink(needs: SiteLinkDeps): SiteLink {
  const { dataDir, store, catalogue, clock, events, log, by, recording } = needs;
  const types = productReplicatedTypes(catalogue);
  const work = createSqliteProgramRunner(store, catalogue, by);
  let identity: LocalIdentity | null = null;
  let site: SiteSync | null = null;
  let dialer: Dialer | null = null;
  let unsubscribe = (): void => undefined;
  const revoked = createRevokedKeys(dataDir);
  const checkpointWaiters = createCheckpointWaiters(clock);
  const initialSync = createInitialSync({ store, catalogue, clock, types, runner: work });
  let forwardRequest: SiteLink["forwardRequest"] = async () => null;
  let credentialFault: string | null | undefined;
  let hasInitialSyncFailed = false;

  /** Before anything is taken up that an earlier run left: what becomes of that goes up, too. */
  function startRecording(): void {
    if (!readLocalIdentity(dataDir) || !work.readSync(() => getRecord(SYNC_STATE, "link"))) return;
    const { isPending: isInitialSyncPending } = initialSync;
    recording.recorder = createSiteChangeRecorder({
      runner: work,
      clock,
      types,
      endpoint: needs.endpointId(),
      isInitialSyncPending,
    });
  }

  async function start(): Promise<void> {
    identity = readLocalIdentity(dataDir);
    if (!identity) return;
    if (!work.readSync(() => getRecord(SYNC_STATE, "link"))) {
      log.error("the appliance's enrolment was cut off; enrol it again");
      return;
    }
    startRecording();
    if (!initialSync.isPending()) return startSync();
    log.info({}, "the appliance's rows are brought into the organisation");
    initialSync.run().then(
      (isDone) => (isDone ? startSync() : undefined),
      (error: unknown) => {
        hasInitialSyncFailed = true;
        log.error({ err: error }, "the appliance's rows were not brought into the organisation");
      },
    );
  }

  async function startSync(): Promise<void> {
    const onFault = (error: unknown): void => log.error({ err: error }, "the link failed");
    const resendState = async (): Promise<void> => {
      await work.transact(startStateResend);
      site?.wake();
    };
    const player = createCommandExecutor({
      ...needs,
      resendState,
      onFault,
      latestCloudTime: () => site?.latestCloudTime() ?? null,
    });
    const own = createSiteSync({
      ...{ store: work, clock, types, newId, ...player },
      limits: {
        ...SYNC_LIMITS,
        pageRows: UPSTREAM_PAGE_ROWS,
        applyBatchRows: APPLY_BATCH_ROWS,
        applyBatchMs: APPLY_BATCH_MS,
      },
      blobs: createFileBlobStore(join(dataDir, "files")),
      activityFields: { extensionId: ONPREM_EXTENSION_ID, endpointId: needs.endpointId() },
      endpoint: needs.endpointId(),
      groups: () => needs.failover().wantedLeases(),
      hasContact: () => needs.failover().hasContact(),
      onCheckpoint(applied) {
        log.debug({ applied }, "equal to the cloud");
        checkpointWaiters.reached(applied);
      },
      onMismatch(different, again) {
        log.warn({ different, again }, "rows differ from the cloud's and are fetched");
      },
      onLease: (lease, until) => needs.failover().onLease(lease, until),
      onSyncError: (reason) => events.emit("fault.changed", { ...SYNC_ALARM, endpointId: needs.endpointId(), reason }),
      onFault,
    });
    site = own;
    await own.start();
    const told = createDeferredLedgerSync({ store, clock, runner: work, types, onFault, wake: own.wake });
    const stopTelling = told.follow(events);
    const stopWaking = events.on("replication.change-recorded", own.wake);
    const talk = createHubControlClient({
      ...{ dataDir, clock, log, revoked, identity: () => identity as LocalIdentity },
      sendControl: (said) => dialer?.sendControl(said) === true,
      onHeartbeat(text) {
        const beat = parseHeartbeat(text);
        if (beat) needs.failover().receiveHeartbeat(beat);
      },
      trustChanged: () => needs.failover().trustChanged(),
      onRenewed(next) {
        identity = next;
        needs.failover().trustChanged();
        // The next connection shows the new key, by which the cloud forgets the old one.
        dialer?.disconnect();
      },
    });
    forwardRequest = async ({ body, ...request }) => {
      if (dialer?.state().state !== "connected") return null;
      const given = await talk.request({ kind: "request", ...request, body: body.toString("base64") });
      if (!given) return null;
      await checkpointWaiters.waitFor(
        given.head as number,
        work.readSync(() => getRecord(SYNC_STATE, "link"))?.applied ?? 0,
      );
      const { status, headers, body: text } = given as unknown as Omit<ForwardedResponse, "body"> & { body: string };
      return { status, headers, body: Buffer.from(text, "base64") };
    };
    const status = createStatusReporter({
      ...{ clock, health: needs.health, say: (said) => void dialer?.sendControl(said) },
      queue() {
        const link = work.readSync(() => getRecord(SYNC_STATE, "link"));
        return link && readQueueStatus(store, link);
      },
    });
    dialer = createDialer({
      ...{ clock, log, version: needs.version, random: needs.random, pingIntervalMs: needs.route.pingIntervalMs },
      address: () => hubAddressOf(identity as LocalIdentity, needs.route),
      site: own,
      onControlMessage: talk.handle,
      onStateChanged({ state }) {
        events.emit("link.changed", { endpointId: needs.endpointId() });
        reportCredentialHealth();
        if (state !== "connected") return;
        clock.defer(status.report);
        clock.after(SETTLED_MS, () => void talk.renew(), { background: true });
      },
    });
    const renewal = clock.every(RENEWAL_CHECK_MS, () => {
      reportCredentialHealth();
      void talk.renew();
    });
    unsubscribe = () => {
      stopTelling();
      stopWaking();
      renewal.cancel();
      status.stop();
      talk.stop();
    };
    dialer.start();
  }

  /** A link that goes on with another key keeps what it has; any other begins with nothing of the one before. */
  async function completeEnrolment(enrolled: EnrolmentResponse, mode: EnrolMode, goesOn: boolean): Promise<void> {
    const prepare = (tx: Transaction): void => {
      if (!goesOn) forgetLink(tx);
      work.runWithin(tx, initializeSyncState(needs.endpointId(), types.fingerprint));
    };
    if (goesOn) await store.write(prepare);
    else await initialSync.schedule(enrolled.ground, mode, prepare);
    startRecording();
  }

  function forgetLink(tx: Transaction): void {
    for (const kept of SITE_COLLECTIONS) work.runWithin(tx, deleteAllRecords(kept));
    tx.run(`DELETE FROM ${PENDING_LEDGER_TABLE.name}`);
  }

  function stopAll(): void {
    recording.recorder = null;
    initialSync.stop();
    unsubscribe();
    dialer?.stop();
    site?.stop();
  }

  /** Raises the alarm while the cloud refuses the credential, or that is about to expire. @source decisions.md 13 */
  function reportCredentialHealth(): void {
    const state = dialer?.state();
    const [expiring] = linkCertificateHealthReasons(identity?.facts ?? null, clock.now());
    const reason = state?.state === "refused" ? state.reason : (expiring?.reason ?? null);
    if (reason === credentialFault || (reason === null && state?.state !== "connected")) return;
    credentialFault = reason;
    events.emit("fault.changed", { ...CREDENTIAL_ALARM, endpointId: needs.endpointId(), reason });
  }

  return {
    startRecording,
    start,
    revoked,
    forwardRequest: (request) => forwardRequest(request),
    identity: () => identity ?? readLocalIdentity(dataDir),
    sendHeartbeat: (beat) => void dialer?.sendControl({ t: "beat", beat: JSON.stringify(beat) }),
    peerStarted: (id) => site?.peerStarted(id),
    isConnected: () => dialer?.state().state === "connected",
    report() {
      const state = identity && work.readSync(() => getRecord(SYNC_STATE, "link"));
      const queue = state && readQueueStatus(store, state);
      return {
        hub: identity && (needs.route.address ?? identity.hub),
        mode: identity && dialer?.state().state === "connected" ? "cloud" : "solo",
        link: dialer?.state() ?? (identity && initialSync.isPending() ? preparingState(clock.now()) : null),
        applied: state?.applied ?? null,
        queued: queue?.unsent ?? 0,
        parked: queue?.refused ?? 0,
        certificateUntil: identity?.facts.validTo ?? null,
      };
    },
    healthReasons() {
      if (!identity) return [];
      const grounds = hasInitialSyncFailed ? "broken" : initialSync.isPending() ? "open" : "done";
      return linkHealthReasons({ identity, state: dialer?.state() ?? null, initialSync: grounds, now: clock.now() });
    },
    async enrol({ hub, code, mode, authority, resolved }) {
      assertHubUrl(hub);
      let enrolled: EnrolmentResponse | null = null;
      const endpoint = needs.endpointId();
      const present = work.readSync(() => getRecord(SYNC_STATE, "link")) && readLocalIdentity(dataDir);
      const way = { ...needs.route, clock, authority: authority ?? needs.route.authority, found: resolved };
      await enrolAppliance(dataDir, { hub, code, endpoint }, async (asked) => {
        enrolled = await requestEnrolment(hub, asked, way);
        if (!present && mode === "adopt" && enrolled.mayAdopt === false)
          throw new ConflictError("The organisation has appliances already: join it, by another code.");
        if (!present || present.authority === enrolled.authority) return enrolled;
        throw new ConflictError("The appliance is linked to another cloud. Let it leave that one first.");
      });
      if (!enrolled) throw new BugError("an appliance was enrolled without an answer");
      await completeEnrolment(enrolled, mode, present !== null);
      return { endpoint };
    },
    async leave() {
      stopAll();
      [site, dialer, identity] = [null, null, null];
      forwardRequest = async () => null;
      deleteLocalIdentity(dataDir);
      await store.write((tx) => {
        forgetLink(tx);
        initialSync.discard(tx);
      });
      events.emit("link.changed", { endpointId: needs.endpointId() });
    },
    disconnect: () => dialer?.disconnect(),
    stop: stopAll,
  };
}

/** The cloud is not called before the appliance knows what to say. */
const preparingState = (since: number): DialerState => ({
  state: "waiting",
  since,
  connectedAt: null,
  reason: "The appliance's rows are being brought into the organisation.",
});
