import type { Clock } from "../../base/clock.ts";
import type { Beat } from "./beats.ts";

/** Appliances that cover for each other. */
export interface CoverGroup {
  id: string;
  /** Ids of appliances, this one among them, who comes first is to act. */
  members: readonly string[];
  /** How long each waits for those before it. */
  timeoutMs: number;
}

/** Who acts for a group, as far as this appliance knows. */
export interface Role {
  holder: string;
  /** Number of the change by which it came to act. */
  term: number;
  /** Epoch ms of this appliance's clock. */
  since: number;
}

/** What a circle needs. */
export interface CircleNeeds {
  ownId: string;
  clock: Pick<Clock, "now" | "monotonicMs">;
  groups(): readonly CoverGroup[];
  /** Who holds a group by the cloud's word, while that is fresh. */
  lease(groupId: string): { holder: string; term: number } | null;
  /** Something sounds here, or is about to: roles are not given back now. */
  isBusy(): boolean;
}

/** What is known of a neighbour. */
export interface Neighbour {
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
export interface Circle {
  heard(beat: Beat): void;
  /** Looks at what time has brought: to be called at least four times a second. */
  look(): void;
  /** False for a moment after a start and after standing still: others may act meanwhile, and are not heard yet. */
  isSettled(): boolean;
  /** Ms since the start, or since it stood still. */
  awakeMs(): number;
  /** Members that may act now: who acts, then the others that are alive, by rank. This appliance is always among them. */
  order(group: CoverGroup): string[];
  role(groupId: string): Role | null;
  neighbour(endpoint: string): Neighbour | null;
  neighbours(): Neighbour[];
  /** Heard lately. */
  isAlive(endpoint: string): boolean;
  /** Groups that this appliance acts for, with their terms. */
  holds(): Record<string, number>;
}

/** Who was not heard for so long does not act any more. @source replication.md 9 */
const ALIVE_MS = 5_000;
/** A role goes back to who is before the holder after so long without trouble. @source replication.md 9 */
const STABLE_MS = 60_000;
/** So long after a start neighbours may need to be heard. own choice: a connection and a beat */
const SETTLING_MS = 2_000;
/** Who was not looked at for so long stood still. */
const STALLED_MS = 2_000;

/** own choice */
const CLOCK_SET_MS = 30_000;

interface Known {
  beat: Beat;
  heardAt: number;
  heardWall: number;
  /** Heard without a gap since then. */
  steadySince: number;
  leastAheadMs: number;
}

/** Makes it, with nobody heard. */
export function createCircle(needs: CircleNeeds): Circle {
  const { ownId, clock } = needs;
  const known = new Map<string, Known>();
  const roles = new Map<string, Role>();
  /** The last start, or end of standing still. */
  let wokenAt = clock.monotonicMs();
  let lookedAt = wokenAt;

  const silentMs = (endpoint: string): number =>
    clock.monotonicMs() - (known.get(endpoint)?.heardAt ?? Number.NEGATIVE_INFINITY);
  const isAlive = (endpoint: string): boolean => endpoint === ownId || silentMs(endpoint) < ALIVE_MS;
  const mayAct = (endpoint: string, groupId: string): boolean =>
    isAlive(endpoint) || needs.lease(groupId)?.holder === endpoint;

  function isSettled(): boolean {
    if (clock.monotonicMs() - wokenAt >= SETTLING_MS) return true;
    const others = new Set(needs.groups().flatMap(({ members }) => members.filter((member) => member !== ownId)));
    return [...others].every((other) => (known.get(other)?.heardAt ?? Number.NEGATIVE_INFINITY) >= wokenAt);
  }

  /** The living member with the highest claim; among equal ones the first. */
  function claimant({ id, members }: CoverGroup): { holder: string; term: number } | null {
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
  function mayTakeBack({ members }: CoverGroup, holder: string): boolean {
    const held = known.get(holder);
    if (holder === ownId || !held || members.indexOf(ownId) > members.indexOf(holder)) return false;
    const isSteady = clock.monotonicMs() - Math.max(wokenAt, held.steadySince) >= STABLE_MS;
    const isQuiet = held.beat.armed === 0 && held.beat.sounding.length === 0 && !needs.isBusy();
    return isSteady && isQuiet;
  }

  function decide(group: CoverGroup): void {
    const claim = claimant(group) ?? needs.lease(group.id);
    const term = Math.max(roles.get(group.id)?.term ?? 0, claim?.term ?? 0);
    if (claim && mayTakeBack(group, claim.holder)) setRole(group.id, ownId, term + 1);
    else if (claim) setRole(group.id, claim.holder, claim.term);
    else if (group.members.find((member) => mayAct(member, group.id)) === ownId) setRole(group.id, ownId, term + 1);
    else {
      const next = group.members.find((member) => mayAct(member, group.id)) as string;
      setRole(group.id, next, term);
    }
  }

  function look(): void {
    const now = clock.monotonicMs();
    if (now - lookedAt >= STALLED_MS) wokenAt = now;
    lookedAt = now;
    if (!isSettled()) return;
    for (const group of needs.groups()) decide(group);
  }

  function order(group: CoverGroup): string[] {
    const alive = group.members.filter((member) => mayAct(member, group.id));
    const holder = roles.get(group.id)?.holder;
    const first = alive.filter((member) => member === holder);
    return [...first, ...alive.filter((member) => member !== holder)];
  }

  const neighbour = (endpoint: string): Neighbour | null => {
    const found = known.get(endpoint);
    if (!found) return null;
    const { beat, heardWall: heardAt, leastAheadMs: aheadMs } = found;
    return { endpoint, version: beat.version, heardAt, silentMs: silentMs(endpoint), armed: beat.armed, aheadMs };
  };

  return {
    heard(beat) {
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
      const isSteady = isSameRun && heardAt - before.heardAt < ALIVE_MS;
      const steadySince = isSteady ? before.steadySince : now;
      known.set(beat.endpoint, { beat, heardAt, heardWall: clock.now(), steadySince, leastAheadMs });
    },
    look,
    isSettled,
    awakeMs: () => clock.monotonicMs() - wokenAt,
    order,
    role: (groupId) => roles.get(groupId) ?? null,
    neighbour,
    neighbours: () => [...known.keys()].flatMap((endpoint) => neighbour(endpoint) ?? []),
    isAlive,
    holds() {
      const own = needs.groups().filter(({ id }) => roles.get(id)?.holder === ownId);
      return Object.fromEntries(own.map(({ id }) => [id, (roles.get(id) as Role).term]));
    },
  };
}
