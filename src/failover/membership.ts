import type { Clock } from "../lib/clock.ts";
import type { PeerHeartbeat } from "./heartbeat.ts";

/** Appliances that take over for each other. */
export interface FailoverGroup {
  id: string;
  /** Ids of the appliances in order of priority, this one included. */
  members: readonly string[];
  /** How long each waits for those before it. */
  timeoutMs: number;
}

/** The active appliance of a group, as known here. */
export interface GroupRole {
  holder: string;
  /** Increases with each change. */
  term: number;
  /** Epoch ms of the local clock. */
  since: number;
}

export interface FailoverMembershipDeps {
  ownId: string;
  clock: Pick<Clock, "now" | "monotonicMs">;
  groups(): readonly FailoverGroup[];
  /** The valid lease of a group; null if there is none. */
  lease(groupId: string): { holder: string; term: number } | null;
  /** A sound plays or is about to: no failback now. */
  isBusy(): boolean;
}

/** A peer as known here. */
export interface FailoverPeer {
  endpoint: string;
  version: string;
  /** Epoch ms of the local clock. */
  heardAt: number;
  /** Ms since then. */
  silentMs: number;
  armed: number;
  /** How far the local clock is ahead of the peer's; ms, too high by at most the network delay. */
  aheadMs: number;
}

/** Which peers are alive, and which appliance is active for each group. */
export interface FailoverMembership {
  receive(beat: PeerHeartbeat): void;
  /** Updates the roles; call it at least four times a second. */
  tick(): void;
  /** False shortly after a start or a stall: other active members may not have been heard yet. */
  isSettled(): boolean;
  /** Ms since the start or the last stall. */
  activeMs(): number;
  /** Eligible members: the active one first, then the other live ones by priority. Always includes this appliance. */
  activationOrder(group: FailoverGroup): string[];
  role(groupId: string): GroupRole | null;
  peer(endpoint: string): FailoverPeer | null;
  peers(): FailoverPeer[];
  /** Heard lately. */
  isAlive(endpoint: string): boolean;
  /** Groups for which this appliance is active, with their terms. */
  heldGroups(): Record<string, number>;
}

/** Silence after which a member is not alive. @source docs/decisions/0040-replication.md, Section 9 */
const ALIVE_TIMEOUT_MS = 5_000;
/** Stable time before a role fails back to a member of higher priority. @source docs/decisions/0040-replication.md, Section 9 */
const FAILBACK_DELAY_MS = 60_000;
/** Time after a start in which peers may not have been heard. @source docs/decisions/0303-failover-timing.md */
const SETTLING_MS = 2_000;
/** Interval between ticks that counts as a stall of the process. */
const STALL_THRESHOLD_MS = 2_000;

/** A larger delay means that a clock was set. @source docs/decisions/0303-failover-timing.md */
const CLOCK_SET_MS = 30_000;

interface KnownPeer {
  beat: PeerHeartbeat;
  heardAt: number;
  heardWall: number;
  /** Start of uninterrupted heartbeats. */
  steadySince: number;
  leastAheadMs: number;
}

export function createFailoverMembership(deps: FailoverMembershipDeps): FailoverMembership {
  const { ownId, clock } = deps;
  const known = new Map<string, KnownPeer>();
  const roles = new Map<string, GroupRole>();
  /** Last start or end of a stall. */
  let awakeSince = clock.monotonicMs();
  let lastTickAt = awakeSince;

  const silentMs = (endpoint: string): number =>
    clock.monotonicMs() - (known.get(endpoint)?.heardAt ?? Number.NEGATIVE_INFINITY);
  const isAlive = (endpoint: string): boolean => endpoint === ownId || silentMs(endpoint) < ALIVE_TIMEOUT_MS;
  const isEligible = (endpoint: string, groupId: string): boolean =>
    isAlive(endpoint) || deps.lease(groupId)?.holder === endpoint;

  function isSettled(): boolean {
    if (clock.monotonicMs() - awakeSince >= SETTLING_MS) return true;
    const others = new Set(deps.groups().flatMap(({ members }) => members.filter((member) => member !== ownId)));
    return [...others].every((other) => (known.get(other)?.heardAt ?? Number.NEGATIVE_INFINITY) >= awakeSince);
  }

  /** The live member with the highest term; among equal ones the first. */
  function findClaimant({ id, members }: FailoverGroup): { holder: string; term: number } | null {
    const own = roles.get(id);
    let best = own?.holder === ownId ? { holder: ownId, term: own.term } : null;
    for (const member of members) {
      const term = member === ownId ? undefined : known.get(member)?.beat.holds[id];
      if (term === undefined || !isAlive(member)) continue;
      const isFirst = best !== null && term === best.term && members.indexOf(member) < members.indexOf(best.holder);
      if (best === null || term > best.term || isFirst) best = { holder: member, term };
    }
    return best;
  }

  function setRole(groupId: string, holder: string, term: number): void {
    const role = roles.get(groupId);
    if (role?.holder === holder && role.term === term) return;
    const since = role?.holder === holder ? role.since : clock.now();
    roles.set(groupId, { holder, term, since });
  }

  /** Whether this appliance takes the role back: it has a higher priority, peers are stable, and nothing plays. */
  function mayFailBack({ members }: FailoverGroup, holder: string): boolean {
    const held = known.get(holder);
    if (holder === ownId || !held || members.indexOf(ownId) > members.indexOf(holder)) return false;
    const isSteady = clock.monotonicMs() - Math.max(awakeSince, held.steadySince) >= FAILBACK_DELAY_MS;
    const isQuiet = held.beat.armed === 0 && held.beat.sounding.length === 0 && !deps.isBusy();
    return isSteady && isQuiet;
  }

  function decide(group: FailoverGroup): void {
    const claim = findClaimant(group) ?? deps.lease(group.id);
    const term = Math.max(roles.get(group.id)?.term ?? 0, claim?.term ?? 0);
    if (claim && mayFailBack(group, claim.holder)) setRole(group.id, ownId, term + 1);
    else if (claim) setRole(group.id, claim.holder, claim.term);
    else if (group.members.find((member) => isEligible(member, group.id)) === ownId) setRole(group.id, ownId, term + 1);
    else {
      const next = group.members.find((member) => isEligible(member, group.id)) as string;
      setRole(group.id, next, term);
    }
  }

  function tick(): void {
    const now = clock.monotonicMs();
    if (now - lastTickAt >= STALL_THRESHOLD_MS) awakeSince = now;
    lastTickAt = now;
    if (!isSettled()) return;
    for (const group of deps.groups()) decide(group);
  }

  function activationOrder(group: FailoverGroup): string[] {
    const alive = group.members.filter((member) => isEligible(member, group.id));
    const holder = roles.get(group.id)?.holder;
    const first = alive.filter((member) => member === holder);
    return [...first, ...alive.filter((member) => member !== holder)];
  }

  const peer = (endpoint: string): FailoverPeer | null => {
    const found = known.get(endpoint);
    if (!found) return null;
    const { beat, heardWall: heardAt, leastAheadMs: aheadMs } = found;
    return { endpoint, version: beat.version, heardAt, silentMs: silentMs(endpoint), armed: beat.armed, aheadMs };
  };

  return {
    receive(beat) {
      if (beat.endpoint === ownId) return;
      const now = clock.monotonicMs();
      const before = known.get(beat.endpoint);
      const isSameRun = before?.beat.boot === beat.boot;
      if (isSameRun && beat.n <= before.beat.n) return;
      const aheadMs = clock.now() - beat.at;
      const lateMs = aheadMs - Math.min(aheadMs, before?.leastAheadMs ?? aheadMs);
      // No network delay is that long: a clock was set.
      const isSet = lateMs > CLOCK_SET_MS;
      const leastAheadMs = isSet ? aheadMs : aheadMs - lateMs;
      // A delayed heartbeat describes the time when it was sent.
      const heardAt = isSet ? now : now - lateMs;
      const isSteady = isSameRun && heardAt - before.heardAt < ALIVE_TIMEOUT_MS;
      const steadySince = isSteady ? before.steadySince : now;
      known.set(beat.endpoint, { beat, heardAt, heardWall: clock.now(), steadySince, leastAheadMs });
    },
    tick,
    isSettled,
    activeMs: () => clock.monotonicMs() - awakeSince,
    activationOrder,
    role: (groupId) => roles.get(groupId) ?? null,
    peer,
    peers: () => [...known.keys()].flatMap((endpoint) => peer(endpoint) ?? []),
    isAlive,
    heldGroups() {
      const own = deps.groups().filter(({ id }) => roles.get(id)?.holder === ownId);
      return Object.fromEntries(own.map(({ id }) => [id, (roles.get(id) as GroupRole).term]));
    },
  };
}
