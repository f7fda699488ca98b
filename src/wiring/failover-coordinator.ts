import type { LinkFailover, SiteLink } from "../cloud-link/site-link.ts";
import { UNSHARED_GROUP_ID } from "../devices/activation-groups.ts";
import type { ActiveSound } from "../failover/duty.ts";
import { createFailover, type Failover } from "../failover/failover.ts";
import { createFailoverGroups } from "../failover/failover-groups.ts";
import {
  createHeartbeatTransport,
  type HeartbeatIdentity,
  type HeartbeatTransport,
} from "../failover/heartbeat-transport.ts";
import type { Clock } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import { newId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import { productVersion } from "../lib/product-version.ts";
import type { HealthReason, HealthSource } from "../ops/health/health.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import endpoints from "../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import notifications from "../resources/notifications/notifications.ts";
import { stagesBefore } from "../resources/notifications/pipeline-stages.ts";
import { type ListenAddress, parseListenAddress } from "../settings/network-addresses.ts";
import type { Settings } from "../settings/schema.ts";
import type { ActorContext, Store, StoreReader } from "../store/store.ts";
import type { Lease } from "../sync/protocol/frames.ts";
import { localAddresses } from "./audio-services.ts";

/** What covering for other appliances needs. */
export interface FailoverCoordinatorDeps {
  store: Store;
  settings: Pick<Settings, "failover">;
  clock: Clock;
  events: Events;
  log: Log;
  by: ActorContext;
  endpointId(): string;
  /** The cloud is connected. */
  hasCloud(): boolean;
  /** This appliance's end of the link; null at a cloud, which covers for nobody. */
  link: Pick<SiteLink, "identity" | "revoked" | "sendHeartbeat" | "peerStarted"> | null;
}

/** How this appliance and its neighbours cover for each other. */
export interface FailoverCoordinator extends Pick<Failover, "status" | "isReachable" | "hasContact" | "assignDuty"> {
  /** Whose turn a held message is. */
  dutyOf(notificationId: string, at: number): "go" | "wait" | "yield";
  /** True for a held message that is ready and would be shared out among appliances otherwise now. */
  isAssignmentStale(notificationId: string): boolean;
  /** Whose turn it is to sound a message at devices of a group that were left to another appliance. */
  backupDutyOf(notificationId: string, at: number, groupId: string): "go" | "wait" | "yield";
  /** What the link has to do with it. */
  linkHandlers: LinkFailover;
  healthSource: HealthSource;
  /** Rejects with Node's error for a taken address. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Clocks that differ by more ring at different moments. @source replication.md 10 */
const MAX_CLOCK_DIFFERENCE_MS = 2_000;
/** own choice: what people notice */
const LATE_THRESHOLD_MS = 1_000;

/** What the cloud says of another holder is believed until it would say it again. own choice: two of its answers */
const REMOTE_LEASE_TTL_MS = 10_000;

/** Makes it; nobody is told anything before `start`. */
export function createFailoverCoordinator(needs: FailoverCoordinatorDeps): FailoverCoordinator {
  const { store, clock, events, log, settings, endpointId, link } = needs;
  const isListening = settings.failover.listen !== null && link?.identity() !== null;
  const groups = createFailoverGroups({ reader: store, events, ownId: endpointId });
  const unsubscribers: (() => void)[] = [groups.stop];
  let lan: HeartbeatTransport | null = null;
  const leases = new Map<string, { lease: Lease; until: number }>();
  const currentLease = (groupId: string): Lease | null => {
    const found = leases.get(groupId);
    return found && clock.monotonicMs() < found.until ? found.lease : null;
  };
  // The endpoint is known from the start on: the data were set up before.
  const failover = createFailover({
    ...{ ownId: endpointId(), version: productVersion(), boot: newId(), clock, groups: groups.all },
    lease: currentLease,
    hasCloud: needs.hasCloud,
    hasNetwork: () => localAddresses().length > 0,
    send(beat) {
      lan?.send(beat);
      // By the cloud as well: a neighbour may be heard by one way alone.
      if (groups.all().length > 0) link?.sendHeartbeat(beat);
    },
    onPeerSound: (id) => link?.peerStarted(id),
    hasBegun: ({ id, groups }) => {
      const row = store.get(notifications, id);
      if (!row || row.t0 === null) return false;
      return (
        groups === null || row.heldUntil === null || failoverGroupsOf(id, store).some((cover) => groups.has(cover))
      );
    },
    onDuplicate: (id, why) => recordActivity(id, "doubled", why, "warn"),
    onTakeover(id, lateMs) {
      const late = lateMs < LATE_THRESHOLD_MS ? "" : `, ${(lateMs / 1_000).toFixed(1)} s after its moment`;
      recordActivity(id, "takeover", `It is sounded in the place of another appliance${late}.`, "info");
    },
  });
  lan = isListening && link ? createLanChannel(needs, link, failover) : null;

  function recordActivity(notificationId: string, what: string, message: string, severity: "info" | "warn"): void {
    log.warn({ notificationId, what }, message);
    const where = { extensionId: ONPREM_EXTENSION_ID, endpointId: endpointId() };
    const value = { what, notificationId, message };
    store
      .write((tx) => void tx.create(endpointActivities, { ...where, type: "log-message", severity, value }, needs.by))
      .catch((error: unknown) => log.error({ err: error }, "a takeover was not recorded"));
  }

  return {
    status: failover.status,
    isReachable: failover.isReachable,
    hasContact: failover.hasContact,
    assignDuty: failover.assignDuty,
    backupDutyOf: (notificationId, at, groupId) => failover.decideDuty(notificationId, at, [groupId], groupId),
    dutyOf(notificationId, at) {
      if (groups.all().length === 0) return "go";
      if (!isAssigned(notificationId, store)) return "wait";
      const covers = failoverGroupsOf(notificationId, store);
      return covers.length === 0 ? "go" : failover.decideDuty(notificationId, at, covers);
    },
    isAssignmentStale(id) {
      if (groups.all().length === 0 || stageOf(id, store) !== "deliver") return false;
      if (!failover.isDutyStale(id, failoverGroupsOf(id, store), hasUnsharedDevices(id, store))) return false;
      // What an earlier run stands in for would be sounded by both.
      return store.one("SELECT 1 FROM notification_failover_rings WHERE ring = ?", id) === null;
    },
    linkHandlers: {
      // Who acts has the lease; who hears nobody act asks who has it.
      wantedLeases: () => groups.all().flatMap(({ id }) => (failover.isLeaseWanted(id) ? [id] : [])),
      hasContact: failover.hasContact,
      onLease(lease, until) {
        const isOwn = lease.holder === endpointId();
        leases.set(lease.group, { lease, until: isOwn ? until : clock.monotonicMs() + REMOTE_LEASE_TTL_MS });
      },
      receiveHeartbeat: failover.receive,
      trustChanged: () => lan?.trustChanged(),
    },
    healthSource: () => healthReasonsOf(needs, { failover, hasLan: lan !== null, groups: groups.all().length }),
    async start() {
      unsubscribers.push(
        events.on("notification.audio-started", ({ notificationId, at }) =>
          failover.markStarted(playbacksOf(notificationId, store), at),
        ),
        events.on("notification.audio-ended", ({ notificationId }) =>
          failover.markEnded(playbacksOf(notificationId, store)),
        ),
      );
      await lan?.start();
      failover.start();
    },
    async stop() {
      for (const forget of unsubscribers.splice(0)) forget();
      failover.stop();
      await lan?.stop();
    },
  };
}

/** It is known which devices it goes to here; before that, others may sound it as well. */
function isAssigned(notificationId: string, reader: StoreReader): boolean {
  const stage = stageOf(notificationId, reader);
  return !stagesBefore("prepare").some((name) => name === stage);
}

function stageOf(notificationId: string, reader: StoreReader): string | null {
  const sql = "SELECT stage FROM notifications WHERE id = ?";
  return reader.one<{ stage: string | null }>(sql, notificationId)?.stage ?? null;
}

function hasUnsharedDevices(notificationId: string, reader: StoreReader): boolean {
  const sql = "SELECT 1 FROM notification_failover_groups WHERE notification = ? AND cover = ?";
  return reader.one(sql, notificationId, UNSHARED_GROUP_ID) !== null;
}

function failoverGroupsOf(notificationId: string, reader: StoreReader): string[] {
  const sql = "SELECT cover FROM notification_failover_groups WHERE notification = ? AND cover <> ?";
  const rows = reader.all<{ cover: string }>(sql, notificationId, UNSHARED_GROUP_ID);
  return rows.map(({ cover }) => cover);
}

/** What neighbours are told of a message: of one that stands in, the ring that it sounds, group by group. */
function playbacksOf(id: string, store: Store): ActiveSound[] {
  const parts = store.all<{ ring: string; cover: string }>(
    "SELECT ring, cover FROM notification_failover_rings WHERE notification = ?",
    id,
  );
  if (parts.length > 0) return parts.map(({ ring, cover }) => ({ id: ring, part: cover, groups: [cover] }));
  const isHeld = (store.get(notifications, id)?.heldUntil ?? null) !== null;
  return [{ id, part: null, groups: isHeld ? failoverGroupsOf(id, store) : null }];
}

function createLanChannel(
  { clock, log, settings }: FailoverCoordinatorDeps,
  { identity, revoked }: NonNullable<FailoverCoordinatorDeps["link"]>,
  failover: Failover,
): HeartbeatTransport {
  const { listen, peers } = settings.failover;
  const read = (address: string): ListenAddress => parseListenAddress(address) as ListenAddress;
  return createHeartbeatTransport({
    ...{ clock, log, onHeartbeat: failover.receive, buildHeartbeat: failover.buildHeartbeat },
    identity: () => identity() as HeartbeatIdentity,
    listen: read(listen as string),
    peers: peers.map(read),
    isRevoked: revoked.has,
  });
}

function healthReasonsOf(
  { store, settings, endpointId }: FailoverCoordinatorDeps,
  { failover, hasLan, groups }: { failover: Failover; hasLan: boolean; groups: number },
): HealthReason[] {
  if (settings.failover.listen === null) return [];
  const yellow = (code: string, reason: string): HealthReason => ({
    level: "yellow",
    code: `failover:${code}`,
    reason,
  });
  if (!hasLan) return [yellow("identity", "It covers for nobody: it was not enrolled with a cloud yet.")];
  const nameOf = (id: string): string => store.get(endpoints, id)?.name ?? id;
  const faults: HealthReason[] = [];
  for (const { endpoint, silentMs, aheadMs } of failover.peers()) {
    const name = nameOf(endpoint);
    if (!failover.isReachable(endpoint)) {
      const seconds = Math.round(silentMs / 1_000);
      faults.push(yellow(`silent:${endpoint}`, `${name} was not heard on the local network for ${seconds} s.`));
    } else if (Math.abs(aheadMs) > MAX_CLOCK_DIFFERENCE_MS) {
      faults.push(yellow(`clock:${endpoint}`, `The clock differs from that of ${name} by ${Math.abs(aheadMs)} ms.`));
    }
  }
  if (groups > 0 && failover.peers().length === 0) {
    faults.push(yellow("alone", "No other appliance was heard on the local network since the start."));
  }
  if (failover.status(endpointId()).state === "takeover") {
    faults.push(yellow("takeover", "It acts in the place of another appliance."));
  }
  return faults;
}
