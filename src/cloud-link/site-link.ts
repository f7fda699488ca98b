import { join } from "node:path";
import { type PeerHeartbeat, parseHeartbeat } from "../failover/heartbeat.ts";
import type { Clock } from "../lib/clock.ts";
import { BugError, ConflictError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import { newId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { ResolvedAddress } from "../lib/ssrf-guard.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import type { AuditNotes } from "../ops/audit-notes.ts";
import type { HealthReason } from "../ops/health/health.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { SignedAuditNote } from "../store/audit-types.ts";
import type { ActorContext, ChangeCapture, Store, Transaction } from "../store/store.ts";
import { createSiteChangeRecorder, isSentToCloud } from "../sync/capture/change-recorders.ts";
import { createDeferredLedgerSync, PENDING_LEDGER_TABLE } from "../sync/capture/deferred-ledger-sync.ts";
import { createFileBlobStore } from "../sync/files/blob-store.ts";
import { type EnrolmentResponse, requestEnrolment } from "../sync/identity/enrolment-exchange.ts";
import {
  deleteLocalIdentity,
  enrolAppliance,
  type LocalIdentity,
  linkCertificateHealthReasons,
  readLocalIdentity,
} from "../sync/identity/local-identity.ts";
import { createRevokedKeys, type RevokedKeys } from "../sync/identity/revoked-keys.ts";
import { createInitialSync } from "../sync/initial-sync/initial-sync.ts";
import { createInitialSyncProof, type InitialSyncProof } from "../sync/initial-sync/initial-sync-proof.ts";
import type { EnrolMode } from "../sync/initial-sync/organisation-baseline.ts";
import { type Lease, SYNC_LIMITS } from "../sync/protocol/frames.ts";
import { productReplicatedTypes } from "../sync/protocol/product-replicated-types.ts";
import { createCommandExecutor } from "../sync/remote-delivery/command-executor.ts";
import { createCheckpointWaiters } from "../sync/site/checkpoint-waiters.ts";
import { createHubControlClient } from "../sync/site/hub-control-client.ts";
import { type InitialSyncReport, readInitialSyncReport } from "../sync/site/initial-sync-report.ts";
import { linkHealthReasons } from "../sync/site/link-health.ts";
import { readQueueStatus } from "../sync/site/queue-status.ts";
import { SECRET_MARKS_TABLE } from "../sync/site/secret-marks.ts";
import { createSiteSync, type SiteSync } from "../sync/site/site-sync.ts";
import { startStateResend } from "../sync/site/state-resend.ts";
import { createStatusReporter, type StatusReporterDeps } from "../sync/site/status-reporter.ts";
import { initializeSyncState } from "../sync/site/sync-state.ts";
import { APPLIED_VERSIONS, SYNC_STATE } from "../sync/site/tables.ts";
import { SITE_COLLECTIONS } from "../sync/storage/collections.ts";
import { createSqliteProgramRunner } from "../sync/storage/sqlite-program-runner.ts";
import { deleteAllRecords, getRecord } from "../sync/storage/transaction-program.ts";
import { createDialer, type Dialer, type DialerState } from "../sync/transport/dialer.ts";
import { assertHubUrl, type HubRoute, hubAddressOf } from "../sync/transport/hub-address.ts";
import { isSuperAccount } from "./appliance-authority.ts";
import { type CloudCaller, type CloudCredentialDeps, createCloudCredentials } from "./cloud-credentials.ts";
import { loadExchangeKeys } from "./secret-hand-over/exchange-key-file.ts";
import { exchangeKeyFingerprint } from "./secret-hand-over/sealed-secret.ts";
import { createSecretReceiver, type SecretReceiver } from "./secret-hand-over/site-hand-over.ts";
import { listOwnSecretTasks, type NamedSecretTask, secretHealthReasons } from "./secret-tasks.ts";

export interface SiteLinkDeps {
  dataDir: string;
  /** Version of this software. */
  version: string;
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  events: Events;
  log: Log;
  /** Actor of replicated writes. */
  by: ActorContext;
  endpointId(): string;
  /** Between 0 and 1. */
  random(): number;
  recording: { recorder: ChangeCapture | null };
  /** Connection settings of the machine. */
  route: HubRoute;
  /** Ends of the audit, which the cloud keeps. */
  auditNotes?: Pick<AuditNotes, "current" | "onNote" | "receiveKept">;
}

/** What the link uses of the appliance, once it runs. */
export interface SiteLinkCallbacks {
  health: StatusReporterDeps["health"];
  notificationService: Pick<NotificationService, "abort" | "resume">;
  /** Failover with peers. */
  failover: LinkFailover;
}

/** An API request to forward to the cloud. */
export interface ForwardedRequest {
  caller: CloudCaller;
  method: "POST" | "PUT" | "DELETE";
  /** Path with query. */
  target: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

export interface ForwardedResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** The link's interface to failover. */
export interface LinkFailover {
  /** Groups whose lease this appliance requests. */
  wantedLeases(): string[];
  hasContact(): boolean;
  /** `until` is monotonic ms. */
  onLease(lease: Lease, until: number): void;
  receiveHeartbeat(beat: PeerHeartbeat): void;
  /** The revocation list or the own certificate changed. */
  trustChanged(): void;
}

/** State of the link for commands and the console; times are epoch ms. */
export interface LinkReport {
  /** Base URL of the cloud; null if the appliance is standalone. */
  hub: string | null;
  mode: "solo" | "cloud";
  link: DialerState | null;
  /** Position up to which rows of the cloud are applied; null without a link. */
  applied: number | null;
  /** Records in the outbox. */
  queued: number;
  /** Rows of the cloud that were refused here. */
  parked: number;
  /** End of the appliance's certificate; epoch ms. */
  certificateUntil: number | null;
  /** What the first sync brought; null before it, and on appliances that were linked by an earlier release. */
  initialSync: InitialSyncReport | null;
}

/** Parameters of an enrolment. */
export interface EnrolmentOptions {
  /** Base URL of the cloud. */
  hub: string;
  code: string;
  mode: EnrolMode;
  /** CA certificate (PEM) of the cloud. */
  authority: string | null;
  /** Verified address of the cloud's host; looked up unless given. */
  resolved?: ResolvedAddress;
}

/** The appliance's end of the link. */
export interface SiteLink {
  /** Starts recording writes; `start` sends them. */
  startRecording(): void;
  start(callbacks: SiteLinkCallbacks): Promise<void>;
  report(): LinkReport;
  /** Connected to the cloud; cheap. */
  isConnected(): boolean;
  /** Health problems of the link. */
  healthReasons(): HealthReason[];
  /** Secrets that must be entered at this appliance. */
  secretTasks(): NamedSecretTask[];
  /** Fetches the secrets that the cloud hands over, at once; nothing without a connection. Never rejects. */
  fetchSecrets(): Promise<void>;
  /** Fingerprint of the key that secrets are sealed for; null without a link. */
  exchangeKeyFingerprint(): string | null;
  /**
   * Enrols the appliance, which must be restarted then. `resolved` is the verified address of the host of `hub`. Throws
   * CallerError, UpstreamError, and ConflictError if it is linked to another cloud.
   */
  enrol(given: EnrolmentOptions): Promise<{ endpoint: string }>;
  /** Makes the appliance standalone and deletes the link with its unsent records; the daemon must be restarted then. */
  leave(): Promise<void>;
  /**
   * Sends the rows again that the cloud refused in the first sync; returns their number. Throws ConflictError unless rows
   * differ.
   */
  retryInitialSync(): Promise<number>;
  /** Ends the first sync although rows differ; they stay as they are. Throws ConflictError unless rows differ. */
  acceptInitialSync(): Promise<void>;
  /** The identity of this appliance; null if it was never enrolled. */
  identity(): LocalIdentity | null;
  revoked: Pick<RevokedKeys, "has">;
  /** Whether the cloud has a row of its configuration, or will have it; true without a link. */
  isShared(type: string, id: string): boolean;
  /**
   * Forwards an API request to the cloud and waits until its changes are applied here. Null if there is no link. Throws
   * CallerError `forbidden` for a caller whom the cloud does not know, and UpstreamError: `upstream` with the cloud's
   * message if it refuses, `outcome-unknown` if it does not respond.
   */
  forwardRequest(request: ForwardedRequest): Promise<ForwardedResponse | null>;
  /** Has the cloud verify a log-in with a local password, so that the session may change what belongs to the cloud. */
  confirmLogIn(tokenId: string, user: { id: string; email: string }, password: string): void;
  /** Sends a heartbeat to peers through the cloud. */
  sendHeartbeat(beat: PeerHeartbeat): void;
  /** A peer plays a notification. */
  peerStarted(id: string): void;
  /** Closes the present connection; it reconnects. */
  disconnect(): void;
  stop(): void;
}

/** Rows per batch, and how long batches share a transaction. @source docs/decisions/0300-sync-limits.md */
const APPLY_BATCH_ROWS = 20;
const APPLY_BATCH_MS = 4;
/** The cloud applies a page in one transaction. @source docs/decisions/0300-sync-limits.md */
const UPSTREAM_PAGE_ROWS = 20;
const SYNC_ALARM = { alarm: "onprem_delta_sync_error_event", code: "link" } as const;
const CREDENTIAL_ALARM = { alarm: "token_expiration", code: "link" } as const;
/** @source docs/decisions/0300-sync-limits.md */
const RENEWAL_CHECK_MS = 3600_000;
/** Delay of the certificate renewal after connecting. @source docs/decisions/0300-sync-limits.md */
const SETTLED_MS = 5_000;
/** Longest wait for the cloud to compare one type, and how often an open first sync is compared without changes. */
const INVENTORY_TIMEOUT_MS = 120_000;
const PROOF_INTERVAL_MS = 60_000;
/** How often missing secrets are asked for, which the cloud may have got consent to hand over. */
const SECRET_CHECK_MS = 30_000;

/** Does nothing on an appliance that was never enrolled. */
export function createSiteLink(deps: SiteLinkDeps): SiteLink {
  const { dataDir, store, catalogue, clock, events, log, by, recording } = deps;
  const types = productReplicatedTypes(catalogue);
  const runner = createSqliteProgramRunner(store, catalogue, by);
  let identity: LocalIdentity | null = null;
  let site: SiteSync | null = null;
  let dialer: Dialer | null = null;
  let unsubscribe = (): void => undefined;
  const revoked = createRevokedKeys(dataDir);
  const checkpointWaiters = createCheckpointWaiters(clock);
  const initialSync = createInitialSync({ store, catalogue, clock, types, runner });
  let forwardRequest: SiteLink["forwardRequest"] = async () => null;
  let prove: CloudCredentialDeps["prove"] = async () => null;
  const isKnownToCloud = (type: string, id: string): boolean =>
    runner.readSync(() => getRecord(APPLIED_VERSIONS, type, id)) !== null;
  const credentials = createCloudCredentials({
    prove: (given) => prove(given),
    isFromCloud: (tokenId) => isKnownToCloud(userTokens.name, tokenId),
    hub: () => identity?.hub ?? "the cloud",
  });
  let credentialProblem: string | null | undefined;
  let hasInitialSyncFailed = false;
  let proof: InitialSyncProof | null = null;
  let secretReceiver: SecretReceiver | null = null;
  const readReport = (): InitialSyncReport | null => runner.readSync(readInitialSyncReport);
  const requireProof = (): InitialSyncProof => {
    if (proof && readReport()?.state === "differs") return proof;
    throw new ConflictError(sentence("error.no-rows-of-the-first-sync-differ"));
  };

  /** Called before interrupted work is resumed: its results are recorded, too. */
  function startRecording(): void {
    if (!readLocalIdentity(dataDir) || !runner.readSync(() => getRecord(SYNC_STATE, "link"))) return;
    const { isPending: isInitialSyncPending } = initialSync;
    recording.recorder = createSiteChangeRecorder({
      runner,
      clock,
      types,
      endpoint: deps.endpointId(),
      isInitialSyncPending,
      isSuperUser: isSuperAccount,
    });
  }

  async function start(callbacks: SiteLinkCallbacks): Promise<void> {
    identity = readLocalIdentity(dataDir);
    if (!identity) return;
    if (!runner.readSync(() => getRecord(SYNC_STATE, "link"))) {
      log.error({ event: "enrolment.incomplete" }, "enrolment was not completed; enrol the appliance again");
      return;
    }
    startRecording();
    if (!initialSync.isPending()) return startSync(callbacks);
    log.info({ event: "initial_sync.started" }, "initial sync with the organisation started");
    initialSync.run().then(
      (isDone) => (isDone ? startSync(callbacks) : undefined),
      (error: unknown) => {
        hasInitialSyncFailed = true;
        log.error({ event: "initial_sync.failed", err: error }, "initial sync with the organisation failed");
      },
    );
  }

  function reportInitialSync({ state, differences, more }: InitialSyncReport): void {
    if (state === "complete") {
      log.info({ event: "initial_sync.proven" }, "initial sync complete: both sides have the same rows");
      return;
    }
    if (state !== "differs") return;
    const rows = differences.map(({ type, id, kind, reason }) => ({ type, id, kind, reason }));
    log.error({ event: "initial_sync.differs", rows, more }, "initial sync not complete: rows differ from the cloud");
  }

  async function startSync({ health, notificationService, failover }: SiteLinkCallbacks): Promise<void> {
    const onFault = (error: unknown): void =>
      log.error({ event: "sync.failed", err: error }, "sync with the cloud failed");
    const resendState = async (): Promise<void> => {
      await runner.transact(startStateResend);
      site?.wake();
    };
    const executor = createCommandExecutor({
      ...deps,
      notificationService,
      resendState,
      onFault,
      latestCloudTime: () => site?.latestCloudTime() ?? null,
    });
    const own = createSiteSync({
      ...{ store: runner, clock, types, newId, ...executor },
      limits: {
        ...SYNC_LIMITS,
        pageRows: UPSTREAM_PAGE_ROWS,
        applyBatchRows: APPLY_BATCH_ROWS,
        applyBatchMs: APPLY_BATCH_MS,
      },
      blobs: createFileBlobStore(join(dataDir, "files")),
      activityFields: { extensionId: ONPREM_EXTENSION_ID, endpointId: deps.endpointId() },
      endpoint: deps.endpointId(),
      groups: () => failover.wantedLeases(),
      hasContact: () => failover.hasContact(),
      onCheckpoint(applied) {
        log.debug({ event: "sync.checkpoint_applied", applied }, "in sync with the cloud");
        checkpointWaiters.reached(applied);
        proof?.check();
      },
      onMismatch(different, again) {
        log.warn(
          { event: "sync.digest_mismatch", types: different, fullResync: again },
          "rows differ from the cloud; fetching them again",
        );
      },
      onLease: (lease, until) => failover.onLease(lease, until),
      onSyncError: (reason) => events.emit("fault.changed", { ...SYNC_ALARM, endpointId: deps.endpointId(), reason }),
      onFault,
    });
    site = own;
    await own.start();
    const ledgerSync = createDeferredLedgerSync({ store, clock, runner, types, onFault, wake: own.wake });
    const stopLedgerSync = ledgerSync.follow(events);
    const ownProof = createInitialSyncProof({
      ...{ store: runner, reader: store, catalogue, types, clock, newId, onFault },
      ask: async (request) =>
        dialer?.state().state === "connected" ? controlClient.request(request, INVENTORY_TIMEOUT_MS) : null,
      onChanged: reportInitialSync,
    });
    proof = ownProof;
    const stopWaking = events.on("replication.change-recorded", own.wake);
    const controlClient = createHubControlClient({
      ...{ dataDir, clock, log, revoked, identity: () => identity as LocalIdentity },
      sendControl: (message) => dialer?.sendControl(message) === true,
      onHeartbeat(text) {
        const beat = parseHeartbeat(text);
        if (beat) failover.receiveHeartbeat(beat);
      },
      trustChanged: () => failover.trustChanged(),
      onAuditEnds: (notes) => deps.auditNotes?.receiveKept(sentence("audit.kept-in-cloud"), notes),
      onRenewed(next) {
        identity = next;
        failover.trustChanged();
        // The next connection uses the new key; the cloud revokes the old one then.
        dialer?.disconnect();
      },
    });
    prove = async (log) => {
      if (dialer?.state().state !== "connected") return null;
      const given = await controlClient.request({ kind: "log-in", ...log }).catch(() => null);
      return typeof given?.proof === "string" ? given.proof : null;
    };
    forwardRequest = async ({ body, caller, ...request }) => {
      if (dialer?.state().state !== "connected") return null;
      const credential = await credentials.of(caller);
      const sent = { kind: "request", credential, ...request, body: body.toString("base64") } as const;
      const given = await controlClient.request(sent);
      if (!given) return null;
      if (typeof given.proof === "string") credentials.renew(caller, given.proof);
      await checkpointWaiters.waitFor(
        given.head as number,
        runner.readSync(() => getRecord(SYNC_STATE, "link"))?.applied ?? 0,
      );
      const { status, headers, body: text } = given as unknown as Omit<ForwardedResponse, "body"> & { body: string };
      return { status, headers, body: Buffer.from(text, "base64") };
    };
    const receiver = createSecretReceiver({
      ...{ dataDir, store, log, by, endpointId: deps.endpointId, identity: () => identity as LocalIdentity },
      tasks: () => listOwnSecretTasks(store, catalogue, deps.endpointId()),
      ask: async (request) => (dialer?.state().state === "connected" ? controlClient.request(request) : null),
    });
    secretReceiver = receiver;
    const status = createStatusReporter({
      ...{ clock, health, say: (message) => void dialer?.sendControl(message) },
      queue() {
        const link = runner.readSync(() => getRecord(SYNC_STATE, "link"));
        return link && readQueueStatus(store, link);
      },
    });
    const sendAuditEnd = (note: SignedAuditNote): void => void dialer?.sendControl({ t: "audit-end", note });
    const stopNoting = deps.auditNotes?.onNote(sendAuditEnd);
    dialer = createDialer({
      ...{ clock, log, version: deps.version, random: deps.random, pingIntervalMs: deps.route.pingIntervalMs },
      address: () => hubAddressOf(identity as LocalIdentity, deps.route),
      site: own,
      onControlMessage: controlClient.handle,
      onStateChanged({ state }) {
        events.emit("link.changed", { endpointId: deps.endpointId() });
        reportCredentialHealth();
        if (state !== "connected") return controlClient.disconnected();
        clock.defer(status.report);
        ownProof.check();
        const end = deps.auditNotes?.current();
        if (end) sendAuditEnd(end);
        receiver.connected();
        clock.after(
          SETTLED_MS,
          () => {
            void controlClient.renew();
            void receiver.fetch();
          },
          { background: true },
        );
      },
    });
    const secretTimer = clock.every(SECRET_CHECK_MS, () => void receiver.fetch());
    const proofTimer = clock.every(PROOF_INTERVAL_MS, ownProof.check);
    const renewal = clock.every(RENEWAL_CHECK_MS, () => {
      reportCredentialHealth();
      void controlClient.renew();
    });
    const stopFollowingNetwork = events.on("network.changed", ({ addresses }) => dialer?.networkChanged(addresses));
    unsubscribe = () => {
      stopFollowingNetwork();
      stopNoting?.();
      stopLedgerSync();
      stopWaking();
      renewal.cancel();
      proofTimer.cancel();
      secretTimer.cancel();
      ownProof.stop();
      status.stop();
      controlClient.stop();
    };
    dialer.start();
  }

  /** A link that continues with another key keeps its state; any other starts empty. */
  async function completeEnrolment(
    enrolled: EnrolmentResponse,
    mode: EnrolMode,
    continuesLink: boolean,
  ): Promise<void> {
    const prepare = (tx: Transaction): void => {
      if (!continuesLink) forgetLink(tx);
      runner.runWithin(tx, initializeSyncState(deps.endpointId(), types.fingerprint));
    };
    if (continuesLink) await store.write(prepare);
    else await initialSync.schedule(enrolled.ground, mode, prepare);
    startRecording();
  }

  function forgetLink(tx: Transaction): void {
    for (const kept of SITE_COLLECTIONS) runner.runWithin(tx, deleteAllRecords(kept));
    for (const { name } of [PENDING_LEDGER_TABLE, SECRET_MARKS_TABLE]) tx.run(`DELETE FROM ${name}`);
  }

  function stopAll(): void {
    recording.recorder = null;
    initialSync.stop();
    unsubscribe();
    dialer?.stop();
    site?.stop();
  }

  /** Raises the alarm while the cloud rejects the credential or while that is about to expire. */
  function reportCredentialHealth(): void {
    const state = dialer?.state();
    const [expiring] = linkCertificateHealthReasons(identity?.facts ?? null, clock.now());
    const reason = state?.state === "refused" ? state.reason : (expiring?.reason ?? null);
    if (reason === credentialProblem || (reason === null && state?.state !== "connected")) return;
    credentialProblem = reason;
    events.emit("fault.changed", { ...CREDENTIAL_ALARM, endpointId: deps.endpointId(), reason });
  }

  return {
    startRecording,
    start,
    revoked,
    isShared: (type, id) => identity === null || runner.readSync(() => isSentToCloud({ type, id })),
    forwardRequest: (request) => forwardRequest(request),
    confirmLogIn(tokenId, { id, email }, password) {
      // The password of an account that the cloud does not have is not sent there.
      if (identity && isKnownToCloud(users.name, id)) credentials.logIn(tokenId, { email, password });
    },
    identity: () => identity ?? readLocalIdentity(dataDir),
    fetchSecrets: async () => secretReceiver?.fetch(),
    exchangeKeyFingerprint: () =>
      identity && exchangeKeyFingerprint(loadExchangeKeys(dataDir, identity.hub, deps.endpointId()).publicKey),
    sendHeartbeat: (beat) => void dialer?.sendControl({ t: "beat", beat: JSON.stringify(beat) }),
    peerStarted: (id) => site?.peerStarted(id),
    isConnected: () => dialer?.state().state === "connected",
    report() {
      const state = identity && runner.readSync(() => getRecord(SYNC_STATE, "link"));
      const queue = state && readQueueStatus(store, state);
      return {
        hub: identity && (deps.route.address ?? identity.hub),
        mode: identity && dialer?.state().state === "connected" ? "cloud" : "solo",
        link: dialer?.state() ?? (identity && initialSync.isPending() ? preparingState(clock.now()) : null),
        applied: state?.applied ?? null,
        queued: queue?.unsent ?? 0,
        parked: queue?.refused ?? 0,
        certificateUntil: identity?.facts.validTo ?? null,
        initialSync: state ? readReport() : null,
      };
    },
    retryInitialSync: () => requireProof().retry(),
    acceptInitialSync: () => requireProof().accept(),
    secretTasks: () => (identity === null ? [] : listOwnSecretTasks(store, catalogue, deps.endpointId())),
    healthReasons() {
      if (!identity) return [];
      const initialSyncState = hasInitialSyncFailed ? "broken" : initialSync.isPending() ? "open" : "done";
      const ofLink = linkHealthReasons({
        identity,
        state: dialer?.state() ?? null,
        initialSync: initialSyncState,
        report: readReport(),
        now: clock.now(),
      });
      return [...ofLink, ...secretHealthReasons(listOwnSecretTasks(store, catalogue, deps.endpointId()))];
    },
    async enrol({ hub, code, mode, authority, resolved }) {
      assertHubUrl(hub);
      let enrolled: EnrolmentResponse | null = null;
      const endpoint = deps.endpointId();
      const currentIdentity = runner.readSync(() => getRecord(SYNC_STATE, "link")) && readLocalIdentity(dataDir);
      const route = { ...deps.route, clock, authority: authority ?? deps.route.authority, resolved };
      await enrolAppliance(dataDir, { hub, code, endpoint }, async (asked) => {
        enrolled = await requestEnrolment(hub, currentIdentity ? asked : { ...asked, mode }, route);
        if (!currentIdentity && mode === "adopt" && enrolled.mayAdopt === false)
          throw new ConflictError(
            sentence("error.the-organisation-already-has-appliances-use-mode-join-with-a-new-code"),
          );
        if (!currentIdentity || currentIdentity.authority === enrolled.authority) return enrolled;
        throw new ConflictError(
          sentence("error.the-appliance-is-linked-to-another-cloud-it-must-leave-that-one-first"),
        );
      });
      if (!enrolled) throw new BugError("enrolment finished without a response");
      await completeEnrolment(enrolled, mode, currentIdentity !== null);
      return { endpoint };
    },
    async leave() {
      stopAll();
      [site, dialer, identity, secretReceiver] = [null, null, null, null];
      forwardRequest = async () => null;
      prove = async () => null;
      deleteLocalIdentity(dataDir);
      await store.write((tx) => {
        forgetLink(tx);
        initialSync.discard(tx);
      });
      events.emit("link.changed", { endpointId: deps.endpointId() });
    },
    disconnect: () => dialer?.disconnect(),
    stop: stopAll,
  };
}

/** Reported while the initial sync runs, before the first connection. */
const preparingState = (since: number): DialerState => ({
  state: "waiting",
  since,
  connectedAt: null,
  reason: sentence("link.initial-sync-running"),
});
