import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { ApplianceLimit } from "../auth/principal.ts";
import { createFailoverGroups, type FailoverGroups } from "../failover/failover-groups.ts";
import { type Clock, type Timer, yieldToEventLoop } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import { newId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import { createSemaphore } from "../lib/semaphore.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { DeliveryProviders } from "../notifications/engine/delivery-providers.ts";
import type { HeldAuditNotes } from "../ops/audit-notes.ts";
import { ensureAuthority } from "../ops/tls/certificates.ts";
import { offeredUpgrade } from "../ops/upgrade/remote-upgrade.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import endpoints from "../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import { createStagedRollouts, type StagedRollouts } from "../rollout/staged-rollouts.ts";
import { type Catalogue, tableName } from "../schema/catalogue.ts";
import type { SignedAuditNote } from "../store/audit-types.ts";
import type { SharedLog } from "../store/shared-log.ts";
import type { ActorContext, ChangeCapture, Store, StoreReader, Transaction } from "../store/store.ts";
import { createHubChangeRecorder } from "../sync/capture/change-recorders.ts";
import { createFileBlobStore } from "../sync/files/blob-store.ts";
import { createHubSync, type HubSync } from "../sync/hub/hub-sync.ts";
import { createPresenceStore, type PresenceStore } from "../sync/hub/presence-store.ts";
import { publishWrittenRows, readFeedHead } from "../sync/hub/publish.ts";
import { createRemoteCommandSender } from "../sync/hub/remote-command-sender.ts";
import { listBucketRows, readRowCounts, readRowInventory } from "../sync/hub/row-inventory.ts";
import { isInScope } from "../sync/hub/row-scopes.ts";
import {
  ADOPTIONS,
  APPLIANCE_DOMAINS,
  EDIT_CONFLICTS,
  type EditConflict,
  FEED_RECORDS,
  LINK_RECORDS,
  REFUSED_ADOPTIONS,
} from "../sync/hub/tables.ts";
import {
  type CodeBinding,
  confirmIdentity,
  findIdentityByKey,
  findIdentityByToken,
  listRevokedKeys,
  type OpenEnrolmentCode,
  openEnrolmentCodes,
  revokeIdentities,
  withdrawEnrolmentCode,
} from "../sync/identity/enrolment-records.ts";
import { createEnrolmentService, type EnrolmentService } from "../sync/identity/enrolment-service.ts";
import { type OrganisationBaseline, readOrganisationBaseline } from "../sync/initial-sync/organisation-baseline.ts";
import { SYNC_LIMITS } from "../sync/protocol/frames.ts";
import { productReplicatedTypes } from "../sync/protocol/product-replicated-types.ts";
import { isReplicated, replicatedBody } from "../sync/protocol/replicated-body.ts";
import { withSecretMarks } from "../sync/protocol/secret-marks.ts";
import { createRemoteChannel, type RemoteChannelCallbacks } from "../sync/remote-delivery/remote-channel.ts";
import { createSqliteProgramRunner } from "../sync/storage/sqlite-program-runner.ts";
import { deleteRecord, getRecord, putRecord, type RowBody, scanRecords } from "../sync/storage/transaction-program.ts";
import { type Acceptor, createAcceptor, type LinkedSite } from "../sync/transport/acceptor.ts";
import { createApplianceAuthority } from "./appliance-authority.ts";
import { createHubControlHandler, type HubControlHandlerDeps } from "./hub-control-handler.ts";
import { createLinkScopes } from "./link-scopes.ts";
import { createSecretHandOver, type SecretHandOver } from "./secret-hand-over/hub-hand-over.ts";

export interface HubLinkDeps {
  dataDir: string;
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  events: Events;
  log: Log;
  by: ActorContext;
  recording: { recorder: ChangeCapture | null };
  endpointId(): string;
  /** Ends of the appliances' audits, which are kept here. */
  heldAuditNotes?: HeldAuditNotes;
  /** The shared log of the organisation, if there is one. */
  shared?: Pick<SharedLog, "isReachable">;
}

/** What appliances ask of the cloud. */
export interface HubLinkCallbacks extends RemoteChannelCallbacks {
  /** Runs an API request that an appliance forwards, within its domains. Throws CallerError. */
  request(
    appliance: { endpoint: string } & ApplianceLimit,
    asked: Parameters<HubControlHandlerDeps["request"]>[1],
  ): ReturnType<HubControlHandlerDeps["request"]>;
  /** Verifies the password of a log-in at an appliance. Throws CallerError. */
  logIn: HubControlHandlerDeps["logIn"];
}

/** The cloud's end of all links. */
export interface HubLink {
  start(callbacks: HubLinkCallbacks): Promise<void>;
  /** Accepts an upgrade request. Throws what the API should answer: CallerError, UpstreamError (`starting`). */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Creates an enrolment code for one appliance; `until` is epoch ms. */
  createEnrolmentCode(binding: CodeBinding): Promise<{ code: string; until: number }>;
  /** Redeemable codes. */
  listEnrolmentCodes(): OpenEnrolmentCode[];
  /** Deletes a code; false if it does not exist. */
  withdrawEnrolmentCode(codeId: string): Promise<boolean>;
  /**
   * Binds an appliance to domains (ids of the topmost ones), or to the whole organisation (null), at once: it fetches the
   * rows that it may read again, and deletes the others.
   */
  bindToDomains(endpoint: string, domainIds: readonly string[] | null): Promise<void>;
  /** Revokes the keys of an appliance and disconnects it: it must be enrolled again. */
  revoke(endpoint: string): Promise<void>;
  /** Ids of the connected appliances. */
  connected(): string[];
  /** The given delivery providers and the one for appliances. */
  extendProviders(providers: DeliveryProviders): DeliveryProviders;
  /** Lost edits of appliances, newest last; at most 1,000. */
  conflicts(): EditConflict[];
  readonly hub: HubSync;
  /** Staged upgrades of appliances. */
  readonly upgrades: StagedRollouts;
  /** Secrets of clusters that go to appliances, sealed for each. */
  readonly secrets: SecretHandOver;
  stop(): void;
}

/** @source docs/decisions/0300-sync-limits.md */
const ROWS_PER_TRANSACTION = 50;
const MAX_CONFLICTS = 1_000;
const LEADERSHIP_CHECK_MS = 1_000;
/** Comparisons of whole types that appliances ask for: at once, and waiting. */
const MAX_INVENTORIES = 2;
const MAX_WAITING_INVENTORIES = 200;

export function createHubLink(deps: HubLinkDeps): HubLink {
  const { dataDir, store, catalogue, clock, events, log, by, recording } = deps;
  const types = productReplicatedTypes(catalogue);
  const runner = createSqliteProgramRunner(store, catalogue, by, createApplianceAuthority(catalogue));
  const onFault = (error: unknown): void =>
    log.error({ event: "sync.failed", err: error }, "sync with an appliance failed");
  const hub = createHubSync({
    ...{ store: runner, clock, types, limits: SYNC_LIMITS, newId, onFault },
    blobs: createFileBlobStore(join(dataDir, "files")),
    isInGroup: (endpoint, group) =>
      groups?.all().some(({ id, members }) => id === group && members.includes(endpoint)) === true,
    onOutcome: (endpoint, cid, report) => remoteChannel.handleReport(endpoint, cid, report),
    onProtocolViolation: (endpoint, reason) =>
      log.warn({ event: "link.protocol_violation", endpoint, reason }, "protocol violation by an appliance"),
  });
  const remoteChannel = createRemoteChannel({
    ...{ store, runner, clock, types, hub, onFault },
    isLinked: (endpoint) => acceptor?.connected().includes(endpoint) === true,
    record,
  });
  const offered = () => offeredUpgrade(store);
  const connected = (): string[] => acceptor?.connected() ?? [];
  const common = { store, clock, events, by, endpointId: deps.endpointId, offered, onFault };
  const remoteCommands = createRemoteCommandSender({ ...common, runner, hub });
  const upgrades = createStagedRollouts({ ...common, connected });
  const secrets = createSecretHandOver({ store, runner, clock, log, by });
  const scopes = createLinkScopes({ reader: store, runner, hub, types, events, onFault });
  const runInventory = createSemaphore(MAX_INVENTORIES, MAX_WAITING_INVENTORIES);
  let enrolment: EnrolmentService | null = null;
  let acceptor: Acceptor | null = null;
  let groups: FailoverGroups | null = null;
  let presences: PresenceStore | null = null;
  let unsubscribe = (): void => undefined;
  let leadershipTimer: Timer | null = null;
  let isStopped = false;
  /** Without the database this node cannot store anything, and another node may be the leader by now. */
  const isDatabaseReachable = (): boolean => deps.shared?.isReachable() ?? true;

  function record(endpointId: string, what: "takeover" | "doubled", notificationId: string, message: string): void {
    if (what === "doubled") log.warn({ event: "delivery.duplicated", endpointId, notificationId }, message);
    else log.warn({ event: "delivery.reassigned", endpointId, notificationId }, message);
    const severity = what === "doubled" ? "warn" : "info";
    const at = { extensionId: ONPREM_EXTENSION_ID, endpointId, type: "log-message", severity } as const;
    store
      .write((tx) => void tx.create(endpointActivities, { ...at, value: { what, notificationId, message } }, by))
      .catch(onFault);
  }

  /**
   * Publishes rows that were written before recording started, such as the initial data. Reads all rows, and writes
   * only those that differ from the feed.
   */
  async function publishUnrecordedRows(): Promise<void> {
    const kinds = [...types.cloudOwned].sort((a, b) => types.dependencyRank(a) - types.dependencyRank(b));
    for (const type of kinds) {
      const sql = `SELECT pk, id FROM ${tableName(catalogue.byName(type))} WHERE pk > ? ORDER BY pk LIMIT ${ROWS_PER_TRANSACTION}`;
      for (let after = 0; !isStopped; ) {
        await store.whenSettled();
        const rows = store.all<{ pk: number; id: string }>(sql, after);
        const others = rows.filter(({ id }) => unpublishedBody(type, id, store) !== null);
        if (others.length > 0) {
          await store.write((tx) => others.forEach(({ id }) => void publishIfChanged(type, id, tx)));
          hub.wake();
        }
        const last = rows.at(-1);
        if (!last) break;
        after = last.pk;
        await yieldToEventLoop(clock);
      }
    }
  }

  /** The row's body if the feed does not have it; null otherwise. */
  function unpublishedBody(type: string, id: string, reader: StoreReader): RowBody | null {
    const resource = catalogue.byName(type);
    const row = reader.get(resource, id) as Readonly<Record<string, unknown>> | null;
    if (!row || !isReplicated(resource, row)) return null;
    const body = withSecretMarks(resource, row, replicatedBody(resource, row));
    const known = runner.readSync(() => getRecord(FEED_RECORDS, type, id));
    return known?.gone === 0 && JSON.stringify(known.body) === JSON.stringify(body) ? null : body;
  }

  function publishIfChanged(type: string, id: string, tx: Transaction): void {
    const body = unpublishedBody(type, id, tx);
    if (body) runner.runWithin(tx, publishWrittenRows([{ type, id, body, at: clock.now() }], types));
  }

  function domainsOf(endpoint: string): readonly string[] | null {
    return runner.readSync(() => getRecord(APPLIANCE_DOMAINS, endpoint))?.domainIds ?? null;
  }

  async function readInventory(
    endpoint: string,
    { bucket, ...asked }: Parameters<HubControlHandlerDeps["inventory"]>[1],
  ): Promise<RowBody> {
    const of = { store: runner, clock, types };
    if (bucket !== null) return { rows: await listBucketRows(of, endpoint, { ...asked, bucket }) };
    return { ...(await readRowInventory(of, endpoint, asked)) };
  }

  /** What an appliance needs to know of the organisation before its first connection. */
  function readGround(endpoint: string): OrganisationBaseline {
    const link = { scopes: runner.readSync(() => getRecord(LINK_RECORDS, endpoint))?.scopes ?? null };
    const counts = runner.readSync(() => readRowCounts(types, link));
    return { ...readOrganisationBaseline(store, (scope) => isInScope(link, scope)), counts };
  }

  const readFeedSequence = async (): Promise<number> => (await runner.transact(readFeedHead)).seq;
  const sendControl: Acceptor["sendControl"] = (endpoint, message) => acceptor?.sendControl(endpoint, message);

  /** Revokes the older keys of an appliance once its newest one is used. */
  async function retireOldKeys(endpoint: string, keyHash: string): Promise<void> {
    const isNewer = await runner.transact(() => confirmIdentity(keyHash, clock.now()));
    await sendRevokedKeys(isNewer ? (acceptor?.connected() ?? []) : [endpoint]);
  }

  /** Sent to appliances because they authenticate each other on local networks, without the cloud. */
  async function sendRevokedKeys(endpoints: readonly string[]): Promise<void> {
    const keys = await runner.transact(() => listRevokedKeys(clock.now()));
    for (const endpoint of endpoints) sendControl(endpoint, { t: "revoked", keys });
  }

  async function revoke(endpoint: string): Promise<void> {
    const isRevoked = await runner.transact(function* () {
      // What it has not brought yet is not taken from a later holder of its id.
      yield* deleteRecord(ADOPTIONS, endpoint);
      for (const { type, id } of yield* scanRecords(REFUSED_ADOPTIONS, { where: [endpoint] }))
        yield* deleteRecord(REFUSED_ADOPTIONS, endpoint, type, id);
      yield* secrets.forget(endpoint);
      return yield* revokeIdentities(endpoint, clock.now());
    });
    if (!isRevoked) return;
    acceptor?.disconnect(endpoint);
    await sendRevokedKeys(acceptor?.connected() ?? []);
  }

  /** The appliance gets what was kept before, so that what it sends now cannot replace it. */
  function exchangeAuditEnds(by: LinkedSite, note: SignedAuditNote): void {
    if (!deps.heldAuditNotes) return;
    by.sendControl({ t: "audit-ends", notes: deps.heldAuditNotes.of(by.endpoint) });
    deps.heldAuditNotes.keep(by.endpoint, note).catch(onFault);
  }

  return {
    hub,
    upgrades,
    secrets,
    extendProviders: remoteChannel.extendProviders,
    conflicts: () => runner.readSync(() => scanRecords(EDIT_CONFLICTS, { limit: MAX_CONFLICTS })),
    async start(callbacks) {
      remoteChannel.start(callbacks);
      await hub.start();
      recording.recorder = createHubChangeRecorder({ runner, clock, types });
      // If an appliance was ever linked, the feed was complete then, and missing rows can be published later.
      const wasComplete = (await runner.read(() => scanRecords(LINK_RECORDS, { limit: 1 }))).length > 0;
      if (!wasComplete) await publishUnrecordedRows();
      await scopes.start();
      const authority = await ensureAuthority(dataDir, clock.now());
      const service = createEnrolmentService({ store: runner, authority, now: clock.now });
      enrolment = service;
      const stopWaking = events.on("replication.change-recorded", hub.wake);
      const stopSending = remoteCommands.follow();
      const known = createFailoverGroups({ reader: store, events, ownId: null });
      groups = known;
      const stopRevoking = events.on("row.changed", ({ resource, id, op }) => {
        if (resource === endpoints.name && op === "delete") revoke(id).catch(onFault);
      });
      unsubscribe = () => {
        for (const stop of [stopWaking, stopSending, stopRevoking, known.stop]) stop();
      };
      const answer = createHubControlHandler({
        groups: known,
        enrolment: service,
        sendControl,
        head: readFeedSequence,
        request: (endpoint, asked) => callbacks.request({ endpoint, domainIds: domainsOf(endpoint) }, asked),
        logIn: callbacks.logIn,
        handOver: secrets.handOver,
        inventory: (endpoint, asked) => runInventory(() => readInventory(endpoint, asked)),
        onFault,
      });
      acceptor = createAcceptor({
        ...{ clock, log },
        hub,
        async enrol(asked) {
          const answer = await service.enrol(asked);
          // The holder of an older key is not this appliance any more.
          acceptor?.disconnect(asked.endpoint);
          await sendRevokedKeys(acceptor?.connected() ?? []);
          await scopes.update(asked.endpoint);
          return { ...answer, ground: readGround(asked.endpoint) };
        },
        identify: (shown) =>
          runner.transact(() =>
            "token" in shown
              ? findIdentityByToken(shown.token, clock.now())
              : findIdentityByKey(shown.keyHash, clock.now()),
          ),
        onControlMessage(by, message) {
          if (message.t === "status") presences?.recordStatus(by.endpoint, message);
          else if (message.t === "audit-end") exchangeAuditEnds(by, message.note);
          else answer(by, message);
        },
        onLinkChanged(endpoint, linked) {
          if (!linked) return presences?.recordDisconnected(endpoint);
          presences?.recordConnected(endpoint, versionOf(linked.software));
          retireOldKeys(endpoint, linked.keyHash).catch(onFault);
        },
      });
      presences = createPresenceStore({ store: runner, clock, connected, onFault });
      upgrades.start();
      leadershipTimer = clock.every(LEADERSHIP_CHECK_MS, () => {
        if (!isDatabaseReachable()) acceptor?.disconnectAll();
      });
      if (wasComplete) publishUnrecordedRows().catch((error: unknown) => isStopped || onFault(error));
    },
    accept(request, socket, head) {
      // A refused appliance retries within a second; one that was disconnected backs off.
      if (!acceptor || !isDatabaseReachable())
        throw new UpstreamError("starting", sentence("error.the-cloud-is-starting"));
      acceptor.accept(request, socket, head);
    },
    createEnrolmentCode(binding) {
      return (enrolment as EnrolmentService).createCode(binding);
    },
    async bindToDomains(endpoint, domainIds) {
      await runner.transact(() =>
        domainIds ? putRecord(APPLIANCE_DOMAINS, { endpoint, domainIds }) : deleteRecord(APPLIANCE_DOMAINS, endpoint),
      );
      await scopes.update(endpoint);
    },
    listEnrolmentCodes: () => runner.readSync(() => openEnrolmentCodes(clock.now())),
    withdrawEnrolmentCode: (codeId) => runner.transact(() => withdrawEnrolmentCode(codeId, clock.now())),
    revoke,
    connected,
    stop() {
      isStopped = true;
      leadershipTimer?.cancel();
      upgrades.stop();
      recording.recorder = null;
      unsubscribe();
      acceptor?.stop();
      presences?.stop();
      scopes.stop();
      hub.stop();
    },
  };
}

/** Version in a user agent like `carillon/1.2.3`. */
function versionOf(software: string | null): string | null {
  return /^carillon\/(\S{1,40})$/.exec(software ?? "")?.[1] ?? null;
}
