import type { Clock, Timer } from "../../base/clock.ts";
import type { FailoverStatus } from "../../health/failover-status.ts";
import { BEAT_EVERY_MS, type Beat } from "./beats.ts";
import { type CoverGroup, createCircle, type Neighbour } from "./circle.ts";
import { createTurns, type Heard, type Outlook, type Sounding, type Turn } from "./turns.ts";

/** What covering for each other needs. */
export interface FailoverNeeds {
  ownId: string;
  version: string;
  /** Name of this run of the process. */
  boot: string;
  clock: Clock;
  /** Groups of several appliances, this one among them. */
  groups(): readonly CoverGroup[];
  /** Who holds a group by the cloud's word, while that is fresh. */
  lease(groupId: string): { holder: string; term: number } | null;
  /** The cloud is connected. */
  hasCloud(): boolean;
  /** The machine has a network at all. */
  hasNetwork(): boolean;
  /** Sends a beat to all neighbours. */
  send(beat: Beat): void;
  /** A neighbour sounds a message, or has sounded it. */
  heardElsewhere(id: string): void;
  /** A message was begun here at devices of a neighbour's groups, also in an earlier run. */
  hasBegun(heard: Heard): boolean;
  /** A message is sounded although a neighbour may have sounded it: why, in words. */
  doubled(id: string, why: string): void;
  /** A message is sounded in the place of a neighbour, so long after its moment. */
  tookOver(id: string, lateMs: number): void;
}

/** How this appliance and its neighbours cover for each other. */
export interface Failover {
  start(): void;
  stop(): void;
  /** Takes what a neighbour says. */
  take(beat: Beat): void;
  /** What neighbours are told now. */
  beat(): Beat;
  /**
   * Whose turn it is to sound a message at `at` (epoch ms) that goes to devices of the groups given; ids of groups that have no
   * other member are passed over. `part`: it goes to that group alone, in the place of another appliance.
   */
  turn(id: string, at: number, groupIds: readonly string[], part?: string | null): Turn;
  /** Who is to sound a message at a group's devices; asked when it is shared out: roles are not given back until it sounded. */
  shareOut(id: string, groupId: string): Outlook;
  /**
   * Whether a message that goes to devices of some groups here would be shared out otherwise now: not all is alike any more.
   * `isAlsoAlone`: it goes to devices, too, that nobody else could sound it at.
   */
  isStale(id: string, groupIds: readonly string[], isAlsoAlone: boolean): boolean;
  /** The first packet of messages leaves at `at` (epoch ms). */
  began(soundings: readonly Sounding[], at: number): void;
  /** They have sounded to their end, or are silenced. */
  ended(soundings: readonly Pick<Sounding, "id" | "part">[]): void;
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
  neighbours(): Neighbour[];
  status(endpoint: string): FailoverStatus;
}

const LOOK_EVERY_MS = 250;
/** Whose turn it is may be asked for many messages and groups at once: one look tells for all. own choice */
const FRESH_MS = 10;

/** Makes it; nobody is told anything before `start`. */
export function createFailover(needs: FailoverNeeds): Failover {
  const { ownId, clock } = needs;
  const startedAt = clock.now();
  const timers = new Set<Timer>();
  let sent = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  const circle = createCircle({ ...needs, isBusy: () => turns.isBusy() });
  const hasContact = (): boolean => circle.neighbours().some(({ endpoint }) => circle.isAlive(endpoint));
  const turns = createTurns({
    ...needs,
    circle,
    isIsolated: () => !needs.hasNetwork() && !needs.hasCloud() && !hasContact(),
  });

  const beat = (): Beat => {
    const { version, boot } = needs;
    sent += 1;
    return { endpoint: ownId, boot, n: sent, version, at: clock.now(), holds: circle.holds(), ...turns.told() };
  };
  const tell = (): void => needs.send(beat());
  let tellsSoon = false;
  /** Many messages begin and end at one moment, and each beat names all. */
  const tellSoon = (): void => {
    if (tellsSoon) return;
    tellsSoon = true;
    clock.soon(() => {
      tellsSoon = false;
      tell();
    });
  };
  const look = (): void => {
    lookedAt = clock.monotonicMs();
    const before = JSON.stringify(circle.holds());
    circle.look();
    if (JSON.stringify(circle.holds()) !== before) tell();
  };

  const groupsOf = (ids: readonly string[]): CoverGroup[] => needs.groups().filter(({ id }) => ids.includes(id));

  const holderOf = (groupId: string): string => {
    const [group] = groupsOf([groupId]);
    return (group && circle.order(group)[0]) ?? ownId;
  };

  return {
    start() {
      timers.add(clock.every(LOOK_EVERY_MS, look));
      timers.add(clock.every(BEAT_EVERY_MS, tell));
      look();
      tell();
    },
    stop() {
      for (const timer of timers) timer.cancel();
      timers.clear();
    },
    take(heard) {
      circle.heard(heard);
      for (const news of turns.heard(heard)) {
        if (needs.hasBegun(news)) needs.doubled(news.id, "Another appliance sounded it as well.");
        needs.heardElsewhere(news.id);
      }
      look();
    },
    beat,
    turn(id, at, groupIds, part = null) {
      if (clock.monotonicMs() - lookedAt >= FRESH_MS) look();
      return turns.turn({ id, at, groups: groupsOf(groupIds), part });
    },
    shareOut(id, groupId) {
      const [group] = groupsOf([groupId]);
      if (!group) return { holder: ownId, like: ownId };
      turns.expect(id);
      return turns.outlook(id, group);
    },
    isStale(id, groupIds, isAlsoAlone) {
      if (clock.monotonicMs() - lookedAt >= FRESH_MS) look();
      if (!circle.isSettled()) return false;
      const likes = groupsOf(groupIds).map((group) => turns.outlook(id, group).like);
      return new Set(isAlsoAlone ? [...likes, ownId] : likes).size > 1;
    },
    began(soundings, at) {
      // Others stand down by it, so that it is told once it is true.
      const timer = clock.after(Math.max(0, at - clock.now()), () => {
        timers.delete(timer);
        for (const sounding of soundings) turns.began(sounding);
        tellSoon();
      });
      timers.add(timer);
    },
    ended(soundings) {
      for (const sounding of soundings) turns.ended(sounding);
      tellSoon();
    },
    isActive: (groupId) => holderOf(groupId) === ownId,
    holderOf,
    isLeaseWanted(groupId) {
      const holder = circle.role(groupId)?.holder;
      return holder === undefined || holder === ownId || !circle.isAlive(holder);
    },
    isReachable: circle.isAlive,
    hasContact,
    neighbours: circle.neighbours,
    status(endpoint) {
      const groups = needs.groups().filter(({ members }) => members.includes(endpoint));
      const mine = groups.filter(({ id }) => circle.role(id)?.holder === endpoint);
      const roles = groups.flatMap(({ id }) => circle.role(id) ?? []);
      const newest = roles.reduce<(typeof roles)[number] | null>(
        (best, role) => (best && best.term >= role.term ? best : role),
        null,
      );
      const isFirst = groups.some(({ members }) => members[0] === endpoint);
      const partner = groups.flatMap(({ members }) => members.filter((member) => member !== endpoint))[0] ?? null;
      const takesOver = mine.some(({ members }) => members[0] !== endpoint);
      const isAlive = circle.isAlive(endpoint);
      const acts = groups.length === 0 || mine.length > 0;
      const own = endpoint === ownId;
      const heard = circle.neighbour(own ? (partner ?? "") : endpoint);
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
        peers: own ? circle.neighbours().flatMap((peer) => (circle.isAlive(peer.endpoint) ? [peer.endpoint] : [])) : [],
      };
    },
  };
}
