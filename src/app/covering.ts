import type { Clock } from "../base/clock.ts";
import type { Events } from "../base/events.ts";
import { newId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { ALONE } from "../devices/activation-groups.ts";
import type { HealthReason, HealthSource } from "../health/health.ts";
import { createCoverGroups } from "../replication/failover/cover-groups.ts";
import { createFailover, type Failover } from "../replication/failover/failover.ts";
import { createLan, type Lan, type LanIdentity } from "../replication/failover/lan.ts";
import type { Sounding } from "../replication/failover/turns.ts";
import type { Lease } from "../replication/frames.ts";
import type { LinkedCircle, SiteLink } from "../replication/link/site-link.ts";
import notifications from "../resources/broadcasts/notifications.ts";
import { stagesUntil } from "../resources/broadcasts/stages.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import endpoints from "../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/onprem.ts";
import { type ListenAddress, parseListen } from "../settings/addresses.ts";
import type { Settings } from "../settings/schema.ts";
import type { By, Reader, Store } from "../store/store.ts";
import { ownAddresses } from "./sound.ts";
import { ownVersion } from "./version.ts";

/** What covering for other appliances needs. */
export interface CoveringNeeds {
  store: Store;
  settings: Pick<Settings, "failover">;
  clock: Clock;
  events: Events;
  log: Log;
  by: By;
  endpointId(): string;
  /** The cloud is connected. */
  hasCloud(): boolean;
  /** This appliance's end of the link; null at a cloud, which covers for nobody. */
  link: Pick<SiteLink, "identity" | "revoked" | "tell" | "heardElsewhere"> | null;
}

/** How this appliance and its neighbours cover for each other. */
export interface Covering extends Pick<Failover, "status" | "isReachable" | "hasContact" | "shareOut"> {
  /** Whose turn a held message is. */
  turn(notificationId: string, at: number): "go" | "wait" | "stand-down";
  /** True for a held message that is ready and would be shared out among appliances otherwise now. */
  isStale(notificationId: string): boolean;
  /** Whose turn it is to sound a message at devices of a group that were left to another appliance. */
  standInTurn(notificationId: string, at: number, groupId: string): "go" | "wait" | "stand-down";
  /** What the link has to do with it. */
  circle: LinkedCircle;
  source: HealthSource;
  /** Rejects with Node's error for a taken address. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Clocks that differ by more ring at different moments. @source replication.md 10 */
const CLOCKS_DIFFER_MS = 2_000;
/** own choice: what people notice */
const LATE_MS = 1_000;

/** What the cloud says of another holder is believed until it would say it again. own choice: two of its answers */
const HELD_ELSEWHERE_MS = 10_000;

/** Makes it; nobody is told anything before `start`. */
export function createCovering(needs: CoveringNeeds): Covering {
  const { store, clock, events, log, settings, endpointId, link } = needs;
  const isListening = settings.failover.listen !== null && link?.identity() !== null;
  const groups = createCoverGroups({ reader: store, events, ownId: endpointId });
  const forgetters: (() => void)[] = [groups.stop];
  let lan: Lan | null = null;
  const leases = new Map<string, { lease: Lease; until: number }>();
  const leaseOf = (groupId: string): Lease | null => {
    const found = leases.get(groupId);
    return found && clock.monotonicMs() < found.until ? found.lease : null;
  };
  // The endpoint is known from the start on: the data were set up before.
  const failover = createFailover({
    ...{ ownId: endpointId(), version: ownVersion(), boot: newId(), clock, groups: groups.all },
    lease: leaseOf,
    hasCloud: needs.hasCloud,
    hasNetwork: () => ownAddresses().length > 0,
    send(beat) {
      lan?.send(beat);
      // By the cloud as well: a neighbour may be heard by one way alone.
      if (groups.all().length > 0) link?.tell(beat);
    },
    heardElsewhere: (id) => link?.heardElsewhere(id),
    hasBegun: ({ id, groups }) => {
      const row = store.get(notifications, id);
      if (!row || row.t0 === null) return false;
      return groups === null || row.heldUntil === null || coversOf(id, store).some((cover) => groups.has(cover));
    },
    doubled: (id, why) => record(id, "doubled", why, "warn"),
    tookOver(id, lateMs) {
      const late = lateMs < LATE_MS ? "" : `, ${(lateMs / 1_000).toFixed(1)} s after its moment`;
      record(id, "takeover", `It is sounded in the place of another appliance${late}.`, "info");
    },
  });
  lan = isListening && link ? makeLan(needs, link, failover) : null;

  function record(notificationId: string, what: string, message: string, severity: "info" | "warn"): void {
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
    shareOut: failover.shareOut,
    standInTurn: (notificationId, at, groupId) => failover.turn(notificationId, at, [groupId], groupId),
    turn(notificationId, at) {
      if (groups.all().length === 0) return "go";
      if (!isSharedOut(notificationId, store)) return "wait";
      const covers = coversOf(notificationId, store);
      return covers.length === 0 ? "go" : failover.turn(notificationId, at, covers);
    },
    isStale(id) {
      if (groups.all().length === 0 || stageOf(id, store) !== "deliver") return false;
      if (!failover.isStale(id, coversOf(id, store), isAlsoAlone(id, store))) return false;
      // What an earlier run stands in for would be sounded by both.
      return store.one("SELECT 1 FROM broadcast_stand_ins WHERE ring = ?", id) === null;
    },
    circle: {
      // Who acts has the lease; who hears nobody act asks who has it.
      wanted: () => groups.all().flatMap(({ id }) => (failover.isLeaseWanted(id) ? [id] : [])),
      hasContact: failover.hasContact,
      leased(lease, until) {
        const isOwn = lease.holder === endpointId();
        leases.set(lease.group, { lease, until: isOwn ? until : clock.monotonicMs() + HELD_ELSEWHERE_MS });
      },
      heard: failover.take,
      trustChanged: () => lan?.trustChanged(),
    },
    source: () => faultsOf(needs, { failover, hasLan: lan !== null, groups: groups.all().length }),
    async start() {
      forgetters.push(
        events.on("sound.began", ({ notificationId, at }) => failover.began(soundingsOf(notificationId, store), at)),
        events.on("sound.ended", ({ notificationId }) => failover.ended(soundingsOf(notificationId, store))),
      );
      await lan?.start();
      failover.start();
    },
    async stop() {
      for (const forget of forgetters.splice(0)) forget();
      failover.stop();
      await lan?.stop();
    },
  };
}

/** It is known which devices it goes to here; before that, others may sound it as well. */
function isSharedOut(notificationId: string, reader: Reader): boolean {
  const stage = stageOf(notificationId, reader);
  return !stagesUntil("prepare").some((name) => name === stage);
}

function stageOf(notificationId: string, reader: Reader): string | null {
  const sql = "SELECT stage FROM notifications WHERE id = ?";
  return reader.one<{ stage: string | null }>(sql, notificationId)?.stage ?? null;
}

function isAlsoAlone(notificationId: string, reader: Reader): boolean {
  const sql = "SELECT 1 FROM broadcast_covered WHERE notification = ? AND cover = ?";
  return reader.one(sql, notificationId, ALONE) !== null;
}

function coversOf(notificationId: string, reader: Reader): string[] {
  const sql = "SELECT cover FROM broadcast_covered WHERE notification = ? AND cover <> ?";
  const rows = reader.all<{ cover: string }>(sql, notificationId, ALONE);
  return rows.map(({ cover }) => cover);
}

/** What neighbours are told of a message: of one that stands in, the ring that it sounds, group by group. */
function soundingsOf(id: string, store: Store): Sounding[] {
  const parts = store.all<{ ring: string; cover: string }>(
    "SELECT ring, cover FROM broadcast_stand_ins WHERE notification = ?",
    id,
  );
  if (parts.length > 0) return parts.map(({ ring, cover }) => ({ id: ring, part: cover, groups: [cover] }));
  const isHeld = (store.get(notifications, id)?.heldUntil ?? null) !== null;
  return [{ id, part: null, groups: isHeld ? coversOf(id, store) : null }];
}

function makeLan(
  { clock, log, settings }: CoveringNeeds,
  { identity, revoked }: NonNullable<CoveringNeeds["link"]>,
  failover: Failover,
): Lan {
  const { listen, peers } = settings.failover;
  const read = (address: string): ListenAddress => parseListen(address) as ListenAddress;
  return createLan({
    ...{ clock, log, take: failover.take, beat: failover.beat },
    identity: () => identity() as LanIdentity,
    listen: read(listen as string),
    peers: peers.map(read),
    isRevoked: revoked.has,
  });
}

function faultsOf(
  { store, settings, endpointId }: CoveringNeeds,
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
  for (const { endpoint, silentMs, aheadMs } of failover.neighbours()) {
    const name = nameOf(endpoint);
    if (!failover.isReachable(endpoint)) {
      const seconds = Math.round(silentMs / 1_000);
      faults.push(yellow(`silent:${endpoint}`, `${name} was not heard on the local network for ${seconds} s.`));
    } else if (Math.abs(aheadMs) > CLOCKS_DIFFER_MS) {
      faults.push(yellow(`clock:${endpoint}`, `The clock differs from that of ${name} by ${Math.abs(aheadMs)} ms.`));
    }
  }
  if (groups > 0 && failover.neighbours().length === 0) {
    faults.push(yellow("alone", "No other appliance was heard on the local network since the start."));
  }
  if (failover.status(endpointId()).state === "takeover") {
    faults.push(yellow("takeover", "It acts in the place of another appliance."));
  }
  return faults;
}
