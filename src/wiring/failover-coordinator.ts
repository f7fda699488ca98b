import type { LinkFailover, SiteLink } from "../cloud-link/site-link.ts";
import { UNSHARED_GROUP_ID } from "../devices/activation-groups.ts";
import type { ActiveSound } from "../failover/duty.ts";
import { createFailover, type Failover } from "../failover/failover.ts";
import { createFailoverGroups } from "../failover/failover-groups.ts";
import type { PeerHeartbeat } from "../failover/heartbeat.ts";
import {
  createHeartbeatTransport,
  type HeartbeatIdentity,
  type HeartbeatTransport,
} from "../failover/heartbeat-transport.ts";
import type { Clock } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import { newId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import { externalAddresses } from "../lib/network-route.ts";
import { productVersion } from "../lib/product-version.ts";
import { type Sentence, sentence } from "../lib/sentences/sentences.ts";
import type { AuditNotes, HeldAuditNotes } from "../ops/audit-notes.ts";
import type { HealthReason, HealthSource } from "../ops/health/health.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import endpoints from "../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import notifications from "../resources/notifications/notifications.ts";
import { stagesBefore } from "../resources/notifications/pipeline-stages.ts";
import { type ListenAddress, parseListenAddress } from "../settings/network-addresses.ts";
import type { Settings } from "../settings/schema.ts";
import { parseAuditNote } from "../store/audit-chain.ts";
import type { SignedAuditNote } from "../store/audit-types.ts";
import type { ActorContext, Store, StoreReader } from "../store/store.ts";
import type { Lease } from "../sync/protocol/frames.ts";

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
  /** Ends of audits, which appliances keep for each other. */
  audits?: Pick<AuditNotes, "current" | "receiveKept"> & { held: HeldAuditNotes };
  /** This appliance's side of the cloud link; null at a cloud, which takes no part in failover. */
  link: Pick<SiteLink, "identity" | "revoked" | "sendHeartbeat" | "peerStarted"> | null;
}

/** Coordinates failover between this appliance and its peers. */
export interface FailoverCoordinator extends Pick<Failover, "status" | "isReachable" | "hasContact" | "assignDuty"> {
  /** Which appliance is on duty for a held message. */
  dutyOf(notificationId: string, at: number): "go" | "wait" | "yield";
  /** True if a held message is ready but the duties of the appliances have changed since they were assigned. */
  isAssignmentStale(notificationId: string): boolean;
  /** Which appliance is on duty for the devices of a group that were left to another appliance. */
  backupDutyOf(notificationId: string, at: number, groupId: string): "go" | "wait" | "yield";
  /** Callbacks for the cloud link. */
  linkHandlers: LinkFailover;
  healthSource: HealthSource;
  /** Rejects with Node's error for an address in use. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** With a larger difference of clocks, bells ring audibly apart. @source docs/decisions/0040-replication.md */
const MAX_CLOCK_DIFFERENCE_MS = 2_000;
/** Delays above this are noticeable, so the activity log mentions them. */
const LATE_THRESHOLD_MS = 1_000;

/** A lease held by another appliance, as reported by the cloud, is trusted this long: two response intervals. */
const REMOTE_LEASE_TTL_MS = 10_000;

/** Sends nothing before `start`. */
export function createFailoverCoordinator(deps: FailoverCoordinatorDeps): FailoverCoordinator {
  const { store, clock, events, log, settings, endpointId, link } = deps;
  const isListening = settings.failover.listen !== null && link?.identity() !== null;
  const groups = createFailoverGroups({ reader: store, events, ownId: endpointId });
  const unsubscribers: (() => void)[] = [groups.stop];
  let lan: HeartbeatTransport | null = null;
  const leases = new Map<string, { lease: Lease; until: number }>();
  const currentLease = (groupId: string): Lease | null => {
    const entry = leases.get(groupId);
    return entry && clock.monotonicMs() < entry.until ? entry.lease : null;
  };
  // The endpoint exists since the data were initialized.
  const peerAudits = createPeerAudits(deps);
  const failover = createFailover({
    ...{ ownId: endpointId(), version: productVersion(), boot: newId(), clock, groups: groups.all },
    lease: currentLease,
    hasCloud: deps.hasCloud,
    hasNetwork: () => externalAddresses().length > 0,
    send(own) {
      const heartbeat = peerAudits.addTo(own);
      lan?.send(heartbeat);
      // Through the cloud as well: a peer may be reachable one way only.
      if (groups.all().length > 0) link?.sendHeartbeat(heartbeat);
    },
    onPeerSound: (id) => link?.peerStarted(id),
    hasBegun: ({ id, groups }) => {
      const row = store.get(notifications, id);
      if (!row || row.t0 === null) return false;
      return (
        groups === null || row.heldUntil === null || failoverGroupsOf(id, store).some((cover) => groups.has(cover))
      );
    },
    onDuplicate: (id, reason) => recordActivity(id, "doubled", reason, "warn"),
    onTakeover(id, lateMs) {
      const isLate = lateMs >= LATE_THRESHOLD_MS;
      const message = isLate
        ? sentence("activity.taken-over-late", { seconds: (lateMs / 1_000).toFixed(1) })
        : sentence("activity.taken-over");
      recordActivity(id, "takeover", message, "info");
    },
  });
  const receive = (beat: PeerHeartbeat): void => {
    peerAudits.receive(beat);
    failover.receive(beat);
  };
  lan = isListening && link ? createLanChannel(deps, link, { ...failover, receive }) : null;

  function recordActivity(notificationId: string, what: string, message: string, severity: "info" | "warn"): void {
    log.warn({ event: "failover.activity", notificationId, what }, message);
    const where = { extensionId: ONPREM_EXTENSION_ID, endpointId: endpointId() };
    const value = { what, notificationId, message };
    store
      .write((tx) => void tx.create(endpointActivities, { ...where, type: "log-message", severity, value }, deps.by))
      .catch((error: unknown) =>
        log.error({ event: "failover.record_failed", err: error }, "failed to record a takeover"),
      );
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
      const groupIds = failoverGroupsOf(notificationId, store);
      return groupIds.length === 0 ? "go" : failover.decideDuty(notificationId, at, groupIds);
    },
    isAssignmentStale(id) {
      if (groups.all().length === 0 || stageOf(id, store) !== "deliver") return false;
      if (!failover.isDutyStale(id, failoverGroupsOf(id, store), hasUnsharedDevices(id, store))) return false;
      // A message that an earlier run plays as backup would sound twice.
      return store.one("SELECT 1 FROM notification_failover_rings WHERE ring = ?", id) === null;
    },
    linkHandlers: {
      // The leader holds the lease; a member that sees no leader requests it.
      wantedLeases: () => groups.all().flatMap(({ id }) => (failover.isLeaseWanted(id) ? [id] : [])),
      hasContact: failover.hasContact,
      onLease(lease, until) {
        const isOwn = lease.holder === endpointId();
        leases.set(lease.group, { lease, until: isOwn ? until : clock.monotonicMs() + REMOTE_LEASE_TTL_MS });
      },
      receiveHeartbeat: receive,
      trustChanged: () => lan?.trustChanged(),
    },
    healthSource: () => healthReasonsOf(deps, { failover, hasLan: lan !== null, groups: groups.all().length }),
    async start() {
      unsubscribers.push(
        events.on("notification.audio-started", ({ notificationId, at }) =>
          failover.markStarted(playbacksOf(notificationId, store), at),
        ),
        events.on("network.changed", ({ addresses }) => lan?.networkChanged(addresses)),
        events.on("notification.audio-ended", ({ notificationId }) =>
          failover.markEnded(playbacksOf(notificationId, store)),
        ),
      );
      await lan?.start();
      failover.start();
    },
    async stop() {
      for (const unsubscribe of unsubscribers.splice(0)) unsubscribe();
      failover.stop();
      await lan?.stop();
    },
  };
}

/** Peers of one failover group. @source docs/decisions/0484-audit-chain-with-a-key.md */
const MAX_AUDITED_PEERS = 20;

/** Appliances keep the ends of each other's audits, and send them back with every heartbeat. */
function createPeerAudits({ audits, endpointId, log }: FailoverCoordinatorDeps) {
  /** What is sent back, by peer: the oldest, the longest and the newest. */
  const heldEnds = new Map<string, readonly SignedAuditNote[]>();
  const lastByPeer = new Map<string, string>();
  const readHeld = (endpoint: string): SignedAuditNote[] => {
    const notes = audits?.held.of(endpoint) ?? [];
    const longest = notes.reduce<SignedAuditNote[]>(
      (best, note) => (best[0] && best[0].number > note.number ? best : [note]),
      [],
    );
    return [...notes.slice(0, 1), ...longest, ...notes.slice(-1)];
  };
  return {
    addTo(beat: PeerHeartbeat): PeerHeartbeat {
      const end = audits?.current();
      return {
        ...beat,
        ...(end && { auditEnd: end }),
        ...(heldEnds.size > 0 && { auditEnds: Object.fromEntries(heldEnds) }),
      };
    },
    receive({ endpoint, auditEnd, auditEnds }: PeerHeartbeat): void {
      if (!audits) return;
      const own = auditEnds?.[endpointId()];
      if (Array.isArray(own)) audits.receiveKept(sentence("audit.kept-at-appliance", { name: endpoint }), own);
      const note = parseAuditNote(auditEnd);
      if (
        !note ||
        lastByPeer.get(endpoint) === note.mac ||
        (heldEnds.size >= MAX_AUDITED_PEERS && !heldEnds.has(endpoint))
      )
        return;
      lastByPeer.set(endpoint, note.mac);
      audits.held.keep(endpoint, note).then(
        () => heldEnds.set(endpoint, readHeld(endpoint)),
        (error: unknown) =>
          log.error({ event: "audit.peer_end_not_kept", err: error }, "failed to keep the end of a peer's audit"),
      );
    },
  };
}

/** True once the local devices of the message are known; before that, other appliances may play it, too. */
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

/** Sounds reported to peers: for a backup message, the ring that it plays, group by group. */
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
  failover: Pick<Failover, "receive" | "buildHeartbeat">,
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
  const yellow = (code: string, reason: Sentence): HealthReason => ({
    level: "yellow",
    code: `failover:${code}`,
    reason,
  });
  if (!hasLan) return [yellow("identity", sentence("health.failover-unlinked"))];
  const nameOf = (id: string): string => store.get(endpoints, id)?.name ?? id;
  const reasons: HealthReason[] = [];
  for (const { endpoint, silentMs, aheadMs } of failover.peers()) {
    const name = nameOf(endpoint);
    if (!failover.isReachable(endpoint)) {
      const seconds = Math.round(silentMs / 1_000);
      reasons.push(yellow(`silent:${endpoint}`, sentence("health.failover-silent", { name, seconds })));
    } else if (Math.abs(aheadMs) > MAX_CLOCK_DIFFERENCE_MS) {
      reasons.push(yellow(`clock:${endpoint}`, sentence("health.failover-clock", { name, ms: Math.abs(aheadMs) })));
    }
  }
  if (groups > 0 && failover.peers().length === 0) {
    reasons.push(yellow("alone", sentence("health.failover-alone")));
  }
  if (failover.status(endpointId()).state === "takeover") {
    reasons.push(yellow("takeover", sentence("health.failover-takeover")));
  }
  return reasons;
}
