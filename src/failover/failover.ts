import type { Clock, Timer } from "../lib/clock.ts";
import type { FailoverStatus } from "../ops/health/failover-status.ts";
import { type ActiveSound, createRingDuty, type Duty, type DutyForecast, type PeerSound } from "./duty.ts";
import { HEARTBEAT_INTERVAL_MS, type PeerHeartbeat } from "./heartbeat.ts";
import { createFailoverMembership, type FailoverGroup, type FailoverPeer } from "./membership.ts";

/** What covering for each other needs. */
export interface FailoverDeps {
  ownId: string;
  version: string;
  /** Name of this run of the process. */
  boot: string;
  clock: Clock;
  /** Groups of several appliances, this one among them. */
  groups(): readonly FailoverGroup[];
  /** Who holds a group by the cloud's word, while that is fresh. */
  lease(groupId: string): { holder: string; term: number } | null;
  /** The cloud is connected. */
  hasCloud(): boolean;
  /** The machine has a network at all. */
  hasNetwork(): boolean;
  /** Sends a beat to all neighbours. */
  send(beat: PeerHeartbeat): void;
  /** A neighbour sounds a message, or has sounded it. */
  onPeerSound(id: string): void;
  /** A message was begun here at devices of a neighbour's groups, also in an earlier run. */
  hasBegun(heard: PeerSound): boolean;
  /** A message is sounded although a neighbour may have sounded it: why, in words. */
  onDuplicate(id: string, why: string): void;
  /** A message is sounded in the place of a neighbour, so long after its moment. */
  onTakeover(id: string, lateMs: number): void;
}

/** How this appliance and its neighbours cover for each other. */
export interface Failover {
  start(): void;
  stop(): void;
  /** Takes what a neighbour says. */
  receive(beat: PeerHeartbeat): void;
  /** What neighbours are told now. */
  buildHeartbeat(): PeerHeartbeat;
  /**
   * Whose turn it is to sound a message at `at` (epoch ms) that goes to devices of the groups given; ids of groups that have no
   * other member are passed over. `part`: it goes to that group alone, in the place of another appliance.
   */
  decideDuty(id: string, at: number, groupIds: readonly string[], part?: string | null): Duty;
  /** Who is to sound a message at a group's devices; asked when it is shared out: roles are not given back until it sounded. */
  assignDuty(id: string, groupId: string): DutyForecast;
  /**
   * Whether a message that goes to devices of some groups here would be shared out otherwise now: not all is alike any more.
   * `isAlsoAlone`: it goes to devices, too, that nobody else could sound it at.
   */
  isDutyStale(id: string, groupIds: readonly string[], isAlsoAlone: boolean): boolean;
  /** The first packet of messages leaves at `at` (epoch ms). */
  markStarted(soundings: readonly ActiveSound[], at: number): void;
  /** They have sounded to their end, or are silenced. */
  markEnded(soundings: readonly Pick<ActiveSound, "id" | "part">[]): void;
  /** Id of the appliance that acts for a group; this one's for one that has no other member. */
  holderOf(groupId: string): string;
  /** Whether this appliance acts for a group; true for one that has no other member. */
  isActive(groupId: string): boolean;
  /** Whether this appliance acts for a group, or hears nobody who does: it is to have the lease, or to know who has it. */
  isLeaseWanted(groupId: string): boolean;
  /** Whether an appliance can act now. */
  isReachable(endpoint: string): boolean;
  /** A neighbour is heard. */
  hasContact(): boolean;
  peers(): FailoverPeer[];
  status(endpoint: string): FailoverStatus;
}

const TICK_MS = 250;
/** Whose turn it is may be asked for many messages and groups at once: one look tells for all. own choice */
const MAX_TICK_AGE_MS = 10;

/** Makes it; nobody is told anything before `start`. */
export function createFailover(needs: FailoverDeps): Failover {
  const { ownId, clock } = needs;
  const startedAt = clock.now();
  const timers = new Set<Timer>();
  let sent = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  const membership = createFailoverMembership({ ...needs, isBusy: () => ringDuty.isBusy() });
  const hasContact = (): boolean => membership.peers().some(({ endpoint }) => membership.isAlive(endpoint));
  const ringDuty = createRingDuty({
    ...needs,
    membership,
    isIsolated: () => !needs.hasNetwork() && !needs.hasCloud() && !hasContact(),
  });

  const buildHeartbeat = (): PeerHeartbeat => {
    const { version, boot } = needs;
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
  const sendHeartbeat = (): void => needs.send(buildHeartbeat());
  let tellsSoon = false;
  /** Many messages begin and end at one moment, and each beat names all. */
  const scheduleHeartbeat = (): void => {
    if (tellsSoon) return;
    tellsSoon = true;
    clock.defer(() => {
      tellsSoon = false;
      sendHeartbeat();
    });
  };
  const tick = (): void => {
    lookedAt = clock.monotonicMs();
    const before = JSON.stringify(membership.heldGroups());
    membership.tick();
    if (JSON.stringify(membership.heldGroups()) !== before) sendHeartbeat();
  };

  const groupsOf = (ids: readonly string[]): FailoverGroup[] => needs.groups().filter(({ id }) => ids.includes(id));

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
      for (const news of ringDuty.receive(heard)) {
        if (needs.hasBegun(news)) needs.onDuplicate(news.id, "Another appliance sounded it as well.");
        needs.onPeerSound(news.id);
      }
      tick();
    },
    buildHeartbeat,
    decideDuty(id, at, groupIds, part = null) {
      if (clock.monotonicMs() - lookedAt >= MAX_TICK_AGE_MS) tick();
      return ringDuty.decide({ id, at, groups: groupsOf(groupIds), part });
    },
    assignDuty(id, groupId) {
      const [group] = groupsOf([groupId]);
      if (!group) return { holder: ownId, equivalenceKey: ownId };
      ringDuty.expectStart(id);
      return ringDuty.forecast(id, group);
    },
    isDutyStale(id, groupIds, isAlsoAlone) {
      if (clock.monotonicMs() - lookedAt >= MAX_TICK_AGE_MS) tick();
      if (!membership.isSettled()) return false;
      const likes = groupsOf(groupIds).map((group) => ringDuty.forecast(id, group).equivalenceKey);
      return new Set(isAlsoAlone ? [...likes, ownId] : likes).size > 1;
    },
    markStarted(soundings, at) {
      // Others stand down by it, so that it is told once it is true.
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
      const groups = needs.groups().filter(({ members }) => members.includes(endpoint));
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
      const acts = groups.length === 0 || mine.length > 0;
      const own = endpoint === ownId;
      const heard = membership.peer(own ? (partner ?? "") : endpoint);
      return {
        endpointId: endpoint,
        role: groups.length === 0 ? "standalone" : isFirst ? "primary" : "backup",
        state: !isAlive ? "unreachable" : takesOver ? "takeover" : acts ? "active" : "standby",
        partnerEndpointId: partner,
        lastHeartbeatAt: heard?.heardAt ?? null,
        activationGroupIds: mine.map(({ id }) => id),
        mode: needs.hasCloud() ? "cloud" : hasContact() ? "lan" : "solo",
        term: newest?.term ?? 0,
        since: newest?.since ?? (own ? startedAt : null),
        peers: own
          ? membership.peers().flatMap((peer) => (membership.isAlive(peer.endpoint) ? [peer.endpoint] : []))
          : [],
      };
    },
  };
}
