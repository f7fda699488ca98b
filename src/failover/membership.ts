import type { Clock } from "../lib/clock.ts";
import type { PeerHeartbeat } from "./heartbeat.ts";

/** Appliances that cover for each other. */
export interface FailoverGroup {
  id: string;
  /** Ids of appliances, this one among them, who comes first is to act. */
  members: readonly string[];
  /** How long each waits for those before it. */
  timeoutMs: number;
}

/** Who acts for a group, as far as this appliance knows. */
export interface GroupRole {
  holder: string;
  /** Number of the change by which it came to act. */
  term: number;
  /** Epoch ms of this appliance's clock. */
  since: number;
}

/** What a circle needs. */
export interface FailoverMembershipDeps {
  ownId: string;
  clock: Pick<Clock, "now" | "monotonicMs">;
  groups(): readonly FailoverGroup[];
  /** Who holds a group by the cloud's word, while that is fresh. */
  lease(groupId: string): { holder: string; term: number } | null;
  /** Something sounds here, or is about to: roles are not given back now. */
  isBusy(): boolean;
}

/** What is known of a neighbour. */
export interface FailoverPeer {
  endpoint: string;
  version: string;
  /** Epoch ms of this appliance's clock. */
  heardAt: number;
  /** Ms since then. */
  silentMs: number;
  armed: number;
  /** By how much this appliance's clock is ahead of the neighbour's; ms, not less than the truth by more than the way takes. */
  aheadMs: number;
}

/** Who is alive, and who acts for each group. */
export interface FailoverMembership {
  receive(beat: PeerHeartbeat): void;
  /** Looks at what time has brought: to be called at least four times a second. */
  tick(): void;
  /** False for a moment after a start and after standing still: others may act meanwhile, and are not heard yet. */
  isSettled(): boolean;
  /** Ms since the start, or since it stood still. */
  activeMs(): number;
  /** Members that may act now: who acts, then the others that are alive, by rank. This appliance is always among them. */
  activationOrder(group: FailoverGroup): string[];
  role(groupId: string): GroupRole | null;
  peer(endpoint: string): FailoverPeer | null;
  peers(): FailoverPeer[];
  /** Heard lately. */
  isAlive(endpoint: string): boolean;
  /** Groups that this appliance acts for, with their terms. */
  heldGroups(): Record<string, number>;
}

/** Who was not heard for so long does not act any more. @source replication.md 9 */
const ALIVE_TIMEOUT_MS = 5_000;
/** A role goes back to who is before the holder after so long without trouble. @source replication.md 9 */
const FAILBACK_DELAY_MS = 60_000;
/** So long after a start neighbours may need to be heard. own choice: a connection and a beat */
const SETTLING_MS = 2_000;
/** Who was not looked at for so long stood still. */
const STALL_THRESHOLD_MS = 2_000;

/** own choice */
const CLOCK_SET_MS = 30_000;

interface KnownPeer {
  beat: PeerHeartbeat;
  heardAt: number;
  heardWall: number;
  /** Heard without a gap since then. */
  steadySince: number;
  leastAheadMs: number;
}

/** Makes it, with nobody heard. */
export function createFailoverMembership(needs: FailoverMembershipDeps): FailoverMembership {
  const { ownId, clock } = needs;
  const known = new Map<string, KnownPeer>();
  const roles = new Map<string, GroupRole>();
  /** The last start, or end of standing still. */
  let wokenAt = clock.monotonicMs();
  let lookedAt = wokenAt;

  const silentMs = (endpoint: string): number =>
    clock.monotonicMs() - (known.get(endpoint)?.heardAt ?? Number.NEGATIVE_INFINITY);
  const isAlive = (endpoint: string): boolean => endpoint === ownId || silentMs(endpoint) < ALIVE_TIMEOUT_MS;
  const isEligible = (endpoint: string, groupId: string): boolean =>
    isAlive(endpoint) || needs.lease(groupId)?.holder === endpoint;

  function isSettled(): boolean {
    if (clock.monotonicMs() - wokenAt >= SETTLING_MS) return true;
    const others = new Set(needs.groups().flatMap(({ members }) => members.filter((member) => member !== ownId)));
    return [...others].every((other) => (known.get(other)?.heardAt ?? Number.NEGATIVE_INFINITY) >= wokenAt);
  }

  /** The living member with the highest claim; among equal ones the first. */
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

  /** This appliance comes before the holder, all has been well for long, and nothing sounds. */
  function mayFailBack({ members }: FailoverGroup, holder: string): boolean {
    const held = known.get(holder);
    if (holder === ownId || !held || members.indexOf(ownId) > members.indexOf(holder)) return false;
    const isSteady = clock.monotonicMs() - Math.max(wokenAt, held.steadySince) >= FAILBACK_DELAY_MS;
    const isQuiet = held.beat.armed === 0 && held.beat.sounding.length === 0 && !needs.isBusy();
    return isSteady && isQuiet;
  }

  function decide(group: FailoverGroup): void {
    const claim = findClaimant(group) ?? needs.lease(group.id);
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
    if (now - lookedAt >= STALL_THRESHOLD_MS) wokenAt = now;
    lookedAt = now;
    if (!isSettled()) return;
    for (const group of needs.groups()) decide(group);
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
      // More than that is no way through a network: a clock was set.
      const isSet = lateMs > CLOCK_SET_MS;
      const leastAheadMs = isSet ? aheadMs : aheadMs - lateMs;
      // What waited on its way says how it was then.
      const heardAt = isSet ? now : now - lateMs;
      const isSteady = isSameRun && heardAt - before.heardAt < ALIVE_TIMEOUT_MS;
      const steadySince = isSteady ? before.steadySince : now;
      known.set(beat.endpoint, { beat, heardAt, heardWall: clock.now(), steadySince, leastAheadMs });
    },
    tick,
    isSettled,
    activeMs: () => clock.monotonicMs() - wokenAt,
    activationOrder,
    role: (groupId) => roles.get(groupId) ?? null,
    peer,
    peers: () => [...known.keys()].flatMap((endpoint) => peer(endpoint) ?? []),
    isAlive,
    heldGroups() {
      const own = needs.groups().filter(({ id }) => roles.get(id)?.holder === ownId);
      return Object.fromEntries(own.map(({ id }) => [id, (roles.get(id) as GroupRole).term]));
    },
  };
}
