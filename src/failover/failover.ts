import type { Clock, Timer } from "../lib/clock.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { FailoverStatus } from "../ops/health/failover-status.ts";
import { type ActiveSound, createRingDuty, type Duty, type DutyForecast, type PeerSound } from "./duty.ts";
import { HEARTBEAT_INTERVAL_MS, type PeerHeartbeat } from "./heartbeat.ts";
import { createFailoverMembership, type FailoverGroup, type FailoverPeer } from "./membership.ts";

export interface FailoverDeps {
  ownId: string;
  version: string;
  /** Id of this process run. */
  boot: string;
  clock: Clock;
  /** Groups of several appliances that include this one. */
  groups(): readonly FailoverGroup[];
  /** The valid lease of a group; null if there is none. */
  lease(groupId: string): { holder: string; term: number } | null;
  /** The cloud is connected. */
  hasCloud(): boolean;
  /** The machine has a network. */
  hasNetwork(): boolean;
  /** Sends a heartbeat to all peers. */
  send(beat: PeerHeartbeat): void;
  /** A peer plays or played a sound. */
  onPeerSound(id: string): void;
  /** Whether a sound was started here at devices of the peer's groups, also by an earlier process. */
  hasBegun(heard: PeerSound): boolean;
  /** Called when a sound is played although a peer may have played it, with the reason. */
  onDuplicate(id: string, why: string): void;
  /** Called when a sound is played in place of a peer, `lateMs` after its time. */
  onTakeover(id: string, lateMs: number): void;
}

/** Failover between this appliance and its peers. */
export interface Failover {
  start(): void;
  stop(): void;
  /** Handles a peer's heartbeat. */
  receive(beat: PeerHeartbeat): void;
  /** The present heartbeat. */
  buildHeartbeat(): PeerHeartbeat;
  /**
   * Decides whether a sound at `at` (epoch ms) plays here; groups without other members are ignored. `part`: it goes to
   * that group only, in place of another appliance.
   */
  decideDuty(id: string, at: number, groupIds: readonly string[], part?: string | null): Duty;
  /**
   * The expected player at a group's devices, when a sound is distributed; the roles do not fail back until it has
   * played.
   */
  assignDuty(id: string, groupId: string): DutyForecast;
  /**
   * Whether a sound for devices of these groups would be distributed differently now. `isAlsoAlone`: it also has
   * devices that no other appliance can activate.
   */
  isDutyStale(id: string, groupIds: readonly string[], isAlsoAlone: boolean): boolean;
  /** The first packet of the sounds is sent at `at` (epoch ms). */
  markStarted(soundings: readonly ActiveSound[], at: number): void;
  /** The sounds were played to their end or stopped. */
  markEnded(soundings: readonly Pick<ActiveSound, "id" | "part">[]): void;
  /** The active appliance of a group; this one if the group has no other member. */
  holderOf(groupId: string): string;
  /** Whether this appliance is active for a group; true if the group has no other member. */
  isActive(groupId: string): boolean;
  /** Whether to request the lease: this appliance is active, or no active one is heard. */
  isLeaseWanted(groupId: string): boolean;
  /** Whether an appliance is alive. */
  isReachable(endpoint: string): boolean;
  /** A peer is heard. */
  hasContact(): boolean;
  peers(): FailoverPeer[];
  status(endpoint: string): FailoverStatus;
}

const TICK_MS = 250;
/** Many sounds and groups are decided at once; they share one tick. @source docs/decisions/0303-failover-timing.md */
const MAX_TICK_AGE_MS = 10;

/** Sends nothing before `start`. */
export function createFailover(deps: FailoverDeps): Failover {
  const { ownId, clock } = deps;
  const startedAt = clock.now();
  const timers = new Set<Timer>();
  let sent = 0;
  let lastTickAt = Number.NEGATIVE_INFINITY;
  const membership = createFailoverMembership({ ...deps, isBusy: () => ringDuty.isBusy() });
  const hasContact = (): boolean => membership.peers().some(({ endpoint }) => membership.isAlive(endpoint));
  const ringDuty = createRingDuty({
    ...deps,
    membership,
    isIsolated: () => !deps.hasNetwork() && !deps.hasCloud() && !hasContact(),
  });

  const buildHeartbeat = (): PeerHeartbeat => {
    const { version, boot } = deps;
    sent += 1;
    return {
      endpoint: ownId,
      boot,
      n: sent,
      version,
      at: clock.now(),
      holds: membership.heldGroups(),
      ...ringDuty.heartbeatFields(),
    };
  };
  const sendHeartbeat = (): void => deps.send(buildHeartbeat());
  let isHeartbeatScheduled = false;
  /** Many sounds start and end at the same time; one heartbeat reports all. */
  const scheduleHeartbeat = (): void => {
    if (isHeartbeatScheduled) return;
    isHeartbeatScheduled = true;
    clock.defer(() => {
      isHeartbeatScheduled = false;
      sendHeartbeat();
    });
  };
  const tick = (): void => {
    lastTickAt = clock.monotonicMs();
    const before = JSON.stringify(membership.heldGroups());
    membership.tick();
    if (JSON.stringify(membership.heldGroups()) !== before) sendHeartbeat();
  };

  const groupsOf = (ids: readonly string[]): FailoverGroup[] => deps.groups().filter(({ id }) => ids.includes(id));

  const holderOf = (groupId: string): string => {
    const [group] = groupsOf([groupId]);
    return (group && membership.activationOrder(group)[0]) ?? ownId;
  };

  return {
    start() {
      timers.add(clock.every(TICK_MS, tick));
      timers.add(clock.every(HEARTBEAT_INTERVAL_MS, sendHeartbeat));
      tick();
      sendHeartbeat();
    },
    stop() {
      for (const timer of timers) timer.cancel();
      timers.clear();
    },
    receive(heard) {
      membership.receive(heard);
      for (const sound of ringDuty.receive(heard)) {
        if (deps.hasBegun(sound)) deps.onDuplicate(sound.id, sentence("activity.doubled"));
        deps.onPeerSound(sound.id);
      }
      tick();
    },
    buildHeartbeat,
    decideDuty(id, at, groupIds, part = null) {
      if (clock.monotonicMs() - lastTickAt >= MAX_TICK_AGE_MS) tick();
      return ringDuty.decide({ id, at, groups: groupsOf(groupIds), part });
    },
    assignDuty(id, groupId) {
      const [group] = groupsOf([groupId]);
      if (!group) return { holder: ownId, equivalenceKey: ownId };
      ringDuty.expectStart(id);
      return ringDuty.forecast(id, group);
    },
    isDutyStale(id, groupIds, isAlsoAlone) {
      if (clock.monotonicMs() - lastTickAt >= MAX_TICK_AGE_MS) tick();
      if (!membership.isSettled()) return false;
      const keys = groupsOf(groupIds).map((group) => ringDuty.forecast(id, group).equivalenceKey);
      return new Set(isAlsoAlone ? [...keys, ownId] : keys).size > 1;
    },
    markStarted(soundings, at) {
      // Peers stand down by it, so it is reported only once it is true.
      const timer = clock.after(Math.max(0, at - clock.now()), () => {
        timers.delete(timer);
        for (const sounding of soundings) ringDuty.markStarted(sounding);
        scheduleHeartbeat();
      });
      timers.add(timer);
    },
    markEnded(soundings) {
      for (const sounding of soundings) ringDuty.markEnded(sounding);
      scheduleHeartbeat();
    },
    isActive: (groupId) => holderOf(groupId) === ownId,
    holderOf,
    isLeaseWanted(groupId) {
      const holder = membership.role(groupId)?.holder;
      return holder === undefined || holder === ownId || !membership.isAlive(holder);
    },
    isReachable: membership.isAlive,
    hasContact,
    peers: membership.peers,
    status(endpoint) {
      const groups = deps.groups().filter(({ members }) => members.includes(endpoint));
      const mine = groups.filter(({ id }) => membership.role(id)?.holder === endpoint);
      const roles = groups.flatMap(({ id }) => membership.role(id) ?? []);
      const newest = roles.reduce<(typeof roles)[number] | null>(
        (best, role) => (best && best.term >= role.term ? best : role),
        null,
      );
      const isFirst = groups.some(({ members }) => members[0] === endpoint);
      const partner = groups.flatMap(({ members }) => members.filter((member) => member !== endpoint))[0] ?? null;
      const takesOver = mine.some(({ members }) => members[0] !== endpoint);
      const isAlive = membership.isAlive(endpoint);
      const isActive = groups.length === 0 || mine.length > 0;
      const own = endpoint === ownId;
      const heard = membership.peer(own ? (partner ?? "") : endpoint);
      return {
        endpointId: endpoint,
        role: groups.length === 0 ? "standalone" : isFirst ? "primary" : "backup",
        state: !isAlive ? "unreachable" : takesOver ? "takeover" : isActive ? "active" : "standby",
        partnerEndpointId: partner,
        lastHeartbeatAt: heard?.heardAt ?? null,
        activationGroupIds: mine.map(({ id }) => id),
        mode: deps.hasCloud() ? "cloud" : hasContact() ? "lan" : "solo",
        term: newest?.term ?? 0,
        since: newest?.since ?? (own ? startedAt : null),
        peers: own
          ? membership.peers().flatMap((peer) => (membership.isAlive(peer.endpoint) ? [peer.endpoint] : []))
          : [],
      };
    },
  };
}
