import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { createFailoverGroups, type FailoverGroups } from "../failover/failover-groups.ts";
import { type Clock, type Timer, yieldToEventLoop } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import { newId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import type { DeliveryProviders } from "../notifications/engine/delivery-providers.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import { ensureAuthority } from "../ops/tls/certificates.ts";
import { offeredUpgrade } from "../ops/upgrade/remote-upgrade.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import endpoints from "../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import { createStagedRollouts, type StagedRollouts } from "../rollout/staged-rollouts.ts";
import { type Catalogue, tableName } from "../schema/catalogue.ts";
import type { SharedLog } from "../store/shared-log.ts";
import type { ActorContext, ChangeCapture, Store, StoreReader, Transaction } from "../store/store.ts";
import { createHubChangeRecorder } from "../sync/capture/change-recorders.ts";
import { createFileBlobStore } from "../sync/files/blob-store.ts";
import { createHubSync, type HubSync } from "../sync/hub/hub-sync.ts";
import { createPresenceStore, type PresenceStore } from "../sync/hub/presence-store.ts";
import { publishWrittenRows, readFeedHead } from "../sync/hub/publish.ts";
import { createRemoteCommandSender } from "../sync/hub/remote-command-sender.ts";
import { EDIT_CONFLICTS, type EditConflict, FEED_RECORDS, LINK_RECORDS } from "../sync/hub/tables.ts";
import {
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
import { readOrganisationBaseline } from "../sync/initial-sync/organisation-baseline.ts";
import { SYNC_LIMITS } from "../sync/protocol/frames.ts";
import { productReplicatedTypes } from "../sync/protocol/product-replicated-types.ts";
import { isReplicated, replicatedBody } from "../sync/protocol/replicated-body.ts";
import { createRemoteChannel, type RemoteChannelDeps } from "../sync/remote-delivery/remote-channel.ts";
import { createSqliteProgramRunner } from "../sync/storage/sqlite-program-runner.ts";
import { getRecord, type RowBody, scanRecords } from "../sync/storage/transaction-program.ts";
import { type Acceptor, createAcceptor } from "../sync/transport/acceptor.ts";
import { createHubControlHandler, type HubControlHandlerDeps } from "./hub-control-handler.ts";

/** What the cloud's end of all links needs. */
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
  notificationService(): Pick<NotificationService, "handleOutcomes">;
  /** Appliances that may activate devices. Called once all runs. */
  candidates: RemoteChannelDeps["candidates"];
  /** Carries out a request of the API that an appliance hands on. Throws CallerError. */
  request: HubControlHandlerDeps["request"];
  /** Where the rows lie, if not here alone. */
  shared?: Pick<SharedLog, "isReachable">;
}

/** The cloud's end of all links. */
export interface HubLink {
  start(): Promise<void>;
  /** Throws what the API would answer: CallerError, UpstreamError (`starting`). */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** A code by which one appliance may be enrolled; epoch ms. */
  createEnrolmentCode(endpoint: string | null): Promise<{ code: string; until: number }>;
  /** Codes that can still be used. */
  listEnrolmentCodes(): OpenEnrolmentCode[];
  /** Takes a code back; false where there is none. */
  withdrawEnrolmentCode(codeId: string): Promise<boolean>;
  /** Takes an appliance's keys away and ends its link: it must be enrolled anew. */
  revoke(endpoint: string): Promise<void>;
  /** Ids of the appliances whose link stands. */
  connected(): string[];
  /** All channels of the cloud: the given ones, and that to appliances. */
  extendProviders(providers: DeliveryProviders): DeliveryProviders;
  /** Edits of appliances that lost against the cloud, newest last; at most 1,000. */
  conflicts(): EditConflict[];
  readonly hub: HubSync;
  /** Upgrades of many appliances. */
  readonly upgrades: StagedRollouts;
  stop(): void;
}

/** Rows that are looked at in one transaction. own choice */
const ROWS_PER_TRANSACTION = 50;
const MAX_CONFLICTS = 1_000;
const LEADERSHIP_CHECK_MS = 1_000;

/** Makes it. */
export function createHubLink(needs: HubLinkDeps): HubLink {
  const { dataDir, store, catalogue, clock, events, log, by, recording } = needs;
  const types = productReplicatedTypes(catalogue);
  const work = createSqliteProgramRunner(store, catalogue, by);
  const onFault = (error: unknown): void => log.error({ err: error }, "a link failed");
  const hub = createHubSync({
    ...{ store: work, clock, types, limits: SYNC_LIMITS, newId, onFault },
    blobs: createFileBlobStore(join(dataDir, "files")),
    isInGroup: (endpoint, group) =>
      groups?.all().some(({ id, members }) => id === group && members.includes(endpoint)) === true,
    onOutcome: (endpoint, cid, told) => remoteChannel.handleReport(endpoint, cid, told),
    onProtocolViolation: (endpoint, reason) => log.warn({ endpoint, reason }, "an appliance sent what it should not"),
  });
  const remoteChannel = createRemoteChannel({
    ...{ store, runner: work, clock, types, hub, onFault, candidates: needs.candidates },
    isLinked: (endpoint) => acceptor?.connected().includes(endpoint) === true,
    record,
    handleOutcomes: (outcomes) => needs.notificationService().handleOutcomes(outcomes),
  });
  const offered = () => offeredUpgrade(store);
  const connected = (): string[] => acceptor?.connected() ?? [];
  const common = { store, clock, events, by, endpointId: needs.endpointId, offered, onFault };
  const remoteCommands = createRemoteCommandSender({ ...common, runner: work, hub });
  const upgrades = createStagedRollouts({ ...common, connected });
  let enrolment: EnrolmentService | null = null;
  let acceptor: Acceptor | null = null;
  let groups: FailoverGroups | null = null;
  let presences: PresenceStore | null = null;
  let unsubscribe = (): void => undefined;
  let watching: Timer | null = null;
  let isStopped = false;
  /** Whoever does not reach the rows can take nothing, and another node may act by now, which appliances are to find. */
  const isHeard = (): boolean => needs.shared?.isReachable() ?? true;

  function record(endpointId: string, what: "takeover" | "doubled", notificationId: string, message: string): void {
    log.warn({ endpointId, notificationId, what }, message);
    const severity = what === "doubled" ? "warn" : "info";
    const at = { extensionId: ONPREM_EXTENSION_ID, endpointId, type: "log-message", severity } as const;
    store
      .write((tx) => void tx.create(endpointActivities, { ...at, value: { what, notificationId, message } }, by))
      .catch(onFault);
  }

  /**
   * What was written while nothing recorded it, such as the first data, enters the feed. All rows are looked at, so only
   * those that differ take a turn to write.
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

  /** What the feed does not have of a row as it is; null for nothing. */
  function unpublishedBody(type: string, id: string, reader: StoreReader): RowBody | null {
    const resource = catalogue.byName(type);
    const row = reader.get(resource, id) as Readonly<Record<string, unknown>> | null;
    if (!row || !isReplicated(resource, row)) return null;
    const body = replicatedBody(resource, row);
    const known = work.readSync(() => getRecord(FEED_RECORDS, type, id));
    return known?.gone === 0 && JSON.stringify(known.body) === JSON.stringify(body) ? null : body;
  }

  function publishIfChanged(type: string, id: string, tx: Transaction): void {
    const body = unpublishedBody(type, id, tx);
    if (body) work.runWithin(tx, publishWrittenRows([{ type, id, body, scope: null, at: clock.now() }], types));
  }

  const readFeedSequence = async (): Promise<number> => (await work.transact(readFeedHead)).seq;
  const sendControl: Acceptor["sendControl"] = (endpoint, talk) => acceptor?.sendControl(endpoint, talk);

  /** An appliance's newest key is at work: those before it are not good any more. */
  async function retireOldKeys(endpoint: string, keyHash: string): Promise<void> {
    const isNewer = await work.transact(() => confirmIdentity(keyHash, clock.now()));
    await sendRevokedKeys(isNewer ? (acceptor?.connected() ?? []) : [endpoint]);
  }

  /** Appliances meet on their local networks, where the cloud can't refuse anybody. */
  async function sendRevokedKeys(endpoints: readonly string[]): Promise<void> {
    const keys = await work.transact(() => listRevokedKeys(clock.now()));
    for (const endpoint of endpoints) sendControl(endpoint, { t: "revoked", keys });
  }

  async function revoke(endpoint: string): Promise<void> {
    if (!(await work.transact(() => revokeIdentities(endpoint, clock.now())))) return;
    acceptor?.disconnect(endpoint);
    await sendRevokedKeys(acceptor?.connected() ?? []);
  }

  return {
    hub,
    upgrades,
    extendProviders: remoteChannel.extendProviders,
    conflicts: () => work.readSync(() => scanRecords(EDIT_CONFLICTS, { limit: MAX_CONFLICTS })),
    async start() {
      await hub.start();
      recording.recorder = createHubChangeRecorder({ runner: work, clock, types });
      // Where an appliance was linked before, the feed was whole then: what it lacks now comes like any other change.
      const wasWhole = (await work.read(() => scanRecords(LINK_RECORDS, { limit: 1 }))).length > 0;
      if (!wasWhole) await publishUnrecordedRows();
      const authority = await ensureAuthority(dataDir, clock.now());
      const desk = createEnrolmentService({ store: work, authority, now: clock.now });
      enrolment = desk;
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
        enrolment: desk,
        sendControl,
        head: readFeedSequence,
        request: needs.request,
        onFault,
      });
      acceptor = createAcceptor({
        ...{ clock, log },
        hub,
        async enrol(asked) {
          const answer = await desk.enrol(asked);
          // Whoever holds one of its keys of before is not this appliance any more.
          acceptor?.disconnect(asked.endpoint);
          await sendRevokedKeys(acceptor?.connected() ?? []);
          return { ...answer, ground: readOrganisationBaseline(store) };
        },
        identify: (shown) =>
          work.transact(() =>
            "token" in shown
              ? findIdentityByToken(shown.token, clock.now())
              : findIdentityByKey(shown.keyHash, clock.now()),
          ),
        onControlMessage(by, said) {
          if (said.t === "status") presences?.recordStatus(by.endpoint, said);
          else answer(by, said);
        },
        onLinkChanged(endpoint, linked) {
          if (!linked) return presences?.recordDisconnected(endpoint);
          presences?.recordConnected(endpoint, versionOf(linked.software));
          retireOldKeys(endpoint, linked.keyHash).catch(onFault);
        },
      });
      presences = createPresenceStore({ store: work, clock, connected, onFault });
      upgrades.start();
      watching = clock.every(LEADERSHIP_CHECK_MS, () => {
        if (!isHeard()) acceptor?.disconnectAll();
      });
      if (wasWhole) publishUnrecordedRows().catch((error: unknown) => isStopped || onFault(error));
    },
    accept(request, socket, head) {
      // Whoever hears that comes again in a second; one that is cut off waits for longer each time.
      if (!acceptor || !isHeard()) throw new UpstreamError("starting", "The cloud is starting.");
      acceptor.accept(request, socket, head);
    },
    createEnrolmentCode(endpoint) {
      return (enrolment as EnrolmentService).createCode(endpoint);
    },
    listEnrolmentCodes: () => work.readSync(() => openEnrolmentCodes(clock.now())),
    withdrawEnrolmentCode: (codeId) => work.transact(() => withdrawEnrolmentCode(codeId, clock.now())),
    revoke,
    connected,
    stop() {
      isStopped = true;
      watching?.cancel();
      upgrades.stop();
      recording.recorder = null;
      unsubscribe();
      acceptor?.stop();
      presences?.stop();
      hub.stop();
    },
  };
}

/** Of `carillon/1.2.3`. */
function versionOf(software: string | null): string | null {
  return /^carillon\/(\S{1,40})$/.exec(software ?? "")?.[1] ?? null;
}
