import type { Clock } from "../lib/clock.ts";
import type { PeerHeartbeat } from "./heartbeat.ts";
import type { FailoverGroup, FailoverMembership } from "./membership.ts";

/** Whether a message is to sound here now; `yield` once another appliance has sounded it. */
export type Duty = "go" | "wait" | "yield";

/** A message that several appliances could sound. */
export interface DutyRequest {
  id: string;
  /** Epoch ms at which it is to sound. */
  at: number;
  /** The groups that it goes to. None: it is this appliance's alone. */
  groups: readonly FailoverGroup[];
  /** Set for what goes to one group in another appliance's place: that group's id. */
  part?: string | null;
}

/** A message that sounds here. */
export interface ActiveSound {
  id: string;
  part: string | null;
  /** Ids of the groups whose devices alone it goes to; null for all. */
  groups: readonly string[] | null;
}

/** What a neighbour said for the first time: a message, and to which groups' devices it goes there; null for all. */
export interface PeerSound {
  id: string;
  groups: ReadonlySet<string> | null;
}

/** Who is to sound a message at a group's devices, as things are. */
export interface DutyForecast {
  /** Id of the appliance that sounded it, else of the one that comes first. */
  holder: string;
  /** Equal for groups in which all is alike for this appliance: whose turn it is at one, it is at the other. */
  equivalenceKey: string;
}

/** What turns need. */
export interface RingDutyDeps {
  ownId: string;
  clock: Pick<Clock, "now" | "monotonicMs">;
  membership: Pick<FailoverMembership, "isSettled" | "activationOrder" | "peer" | "activeMs">;
  /** Nothing and nobody can be reached from here. */
  isIsolated(): boolean;
  /** It is sounded although another appliance may have sounded it: why, in words. */
  onDuplicate(id: string, why: string): void;
  /** It is sounded in the place of another appliance, so long after its moment. */
  onTakeover(id: string, lateMs: number): void;
}

/** Whose turn it is to sound what several appliances have: once if it can be, twice rather than never. */
export interface RingDuty {
  decide(due: DutyRequest): Duty;
  /** Who is to sound a message at a group's devices. */
  forecast(id: string, group: FailoverGroup): DutyForecast;
  /** A message was shared out, now or anew: it waits for its moment. */
  expectStart(id: string): void;
  /** Takes what a neighbour says. Answers what is new as sounding or over. */
  receive(beat: PeerHeartbeat): PeerSound[];
  /** The first packet is out here. */
  markStarted(sounding: ActiveSound): void;
  /** It was sounded to its end here, or silenced; also when that is all that is known. */
  markEnded(sounding: Pick<ActiveSound, "id" | "part">): void;
  /** What neighbours are to be told. */
  heartbeatFields(): Pick<PeerHeartbeat, "armed" | "sounding" | "over" | "covers">;
  /** Something sounds here, or waits for its moment. */
  isBusy(): boolean;
}

/** Who sounded and was not heard for so long is gone. own choice: three beats; a takeover within 5 s needs it */
const PEER_GONE_MS = 3_000;
/** Who comes back may go on with what it sounded before; it has so long. own choice */
const PEER_RETURN_MS = 1_000;
/** Who was away at the moment is found by its neighbours within so long. own choice: the longest that a neighbour waits for an answer, and one more try */
const DISCOVERY_MS = 6_000;
/** A message is of no use so long after its time. @source replication.md 5 */
const MAX_LATENESS_MS = 30_000;
/** What was not asked about for so long does not wait any more. own choice: longer than from the sharing out to a ring's end */
const WAITING_TIMEOUT_MS = 60_000;
/** Others are told of what sounded for so long. */
const RETENTION_MS = 180_000;
/** So many groups are named in a beat at most; of what would exceed it is said that it goes to all. own choice: half of what a neighbour reads as one line */
const MAX_COVERED_GROUPS = 1_500;

interface Evidence {
  kind: "sounding" | "over";
  /** Monotonic. */
  at: number;
  /** The neighbour's run that said so. */
  boot: string;
  /** Since when a later run of the neighbour does not say so; monotonic. */
  lostAt: number | null;
  groups: ReadonlySet<string> | null;
}

/** What is known here of a message that sounds, or did; `at` is monotonic. */
interface SoundRecord extends ActiveSound {
  at: number;
}

/** Makes it. */
export function createRingDuty(needs: RingDutyDeps): RingDuty {
  const { ownId, clock, membership } = needs;
  /** With the latest wall time at which it is this appliance's turn. */
  const waiting = new Map<string, { seenAt: number; latest: number; isLast: boolean }>();
  /** Those of them whose turn has come: devices may have been asked. */
  const decided = new Set<string>();
  const sounding = new Map<string, SoundRecord>();
  const over = new Map<string, SoundRecord>();
  /** By message, then by neighbour. */
  const evidence = new Map<string, Map<string, Evidence>>();

  const pruneOld = (): void => {
    const before = clock.monotonicMs() - RETENTION_MS;
    for (const [id, { seenAt }] of waiting) {
      if (seenAt >= clock.monotonicMs() - WAITING_TIMEOUT_MS) continue;
      waiting.delete(id);
      decided.delete(id);
    }
    for (const [key, { at }] of over) if (at < before) over.delete(key);
    for (const [id, by] of evidence) if ([...by.values()].every(({ at }) => at < before)) evidence.delete(id);
  };

  const claim = (key: string): Duty => {
    decided.add(key);
    return "go";
  };
  const standDown = (key: string): Duty => {
    waiting.delete(key);
    decided.delete(key);
    return "yield";
  };

  /** Who sounded it at a group's devices. */
  const evidenceForGroup = (id: string, groupId: string): [string, Evidence][] =>
    [...(evidence.get(id) ?? [])].filter(([, { groups }]) => groups === null || groups.has(groupId));

  /** Who sounded it at all the devices that it goes to here; what somebody sounded at some of them alone is not enough. */
  const evidenceForGroups = (id: string, groups: readonly FailoverGroup[]): [string, Evidence][] => {
    const said = groups.map((group) => evidenceForGroup(id, group.id));
    return said.every((each) => each.length > 0) ? [...new Map(said.flat())] : [];
  };

  /** Place of this appliance among those that may act for a group, without some. */
  const ownRank = (group: FailoverGroup, without: ReadonlySet<string>) => {
    const order = membership.activationOrder(group).filter((member) => !without.has(member));
    const rank = order.indexOf(ownId);
    return { rank, before: order.slice(0, rank), among: order.length === 1 ? 0 : order.length };
  };

  /** Ms that this appliance waits for those before it. */
  const waitMs = (groups: readonly FailoverGroup[], without: ReadonlySet<string>, isLast = false): number =>
    Math.min(
      ...groups.map((group) => {
        const place = ownRank(group, without);
        const { before } = place;
        const rank = isLast ? place.among : place.rank;
        // A neighbour whose clock is behind is not late.
        const aheadMs = Math.max(0, ...before.map((member) => membership.peer(member)?.aheadMs ?? 0));
        return rank === 0 ? 0 : rank * group.timeoutMs + Math.min(aheadMs, MAX_LATENESS_MS / 2);
      }),
    );

  function decide({ id, at, groups, part = null }: DutyRequest): Duty {
    const key = keyOf({ id, part });
    if (groups.length === 0 || sounding.has(key)) return "go";
    const lateMs = clock.now() - at;
    const heardOf = evidenceForGroups(id, groups);
    if (heardOf.some(([, { kind }]) => kind === "over")) return standDown(key);
    // Who missed the moment itself comes last: others have begun to cover for it.
    const isLast = lateMs > membership.activeMs();
    const before = waiting.get(key);
    const latest = before?.isLast === isLast ? before.latest : Number.POSITIVE_INFINITY;
    if (isLast && before && !before.isLast) decided.delete(key);
    waiting.set(key, { seenAt: clock.monotonicMs(), latest, isLast });
    if (heardOf.length > 0) return decideAfterPeerStart(id, key, groups, heardOf, lateMs);
    if (!membership.isSettled()) return "wait";
    if (decided.has(key)) return claim(key);
    // Who rang meanwhile may not have been heard yet.
    if (
      isLast &&
      membership.activeMs() < DISCOVERY_MS &&
      groups.some((group) => membership.activationOrder(group).length === 1)
    )
      return "wait";
    const patience = waitMs(groups, new Set(), isLast);
    const from = clock.now() + Math.max(0, -lateMs) + patience;
    // Who moves up gives the one who moved up before it the time to be heard.
    const turnAt = Math.min(latest, from);
    waiting.set(key, { seenAt: clock.monotonicMs(), latest: turnAt, isLast });
    // Who comes first makes ready before the moment.
    if (patience > 0 && clock.now() < turnAt) return "wait";
    if (needs.isIsolated()) return "wait";
    if (patience > 0 || part !== null) needs.onTakeover(id, lateMs);
    return claim(key);
  }

  /** Somebody began it, and did not say that it is over. */
  function decideAfterPeerStart(
    id: string,
    key: string,
    groups: readonly FailoverGroup[],
    heardOf: readonly [string, Evidence][],
    lateMs: number,
  ): Duty {
    const goneMs = Math.min(...heardOf.map(([peer, { lostAt }]) => peerGoneMs(peer, lostAt)));
    if (goneMs < 0) return lateMs >= MAX_LATENESS_MS - 1_000 ? standDown(key) : "wait";
    if (lateMs >= MAX_LATENESS_MS) return standDown(key);
    const patience = waitMs(groups, new Set(heardOf.map(([peer]) => peer)));
    // What waited on its way says nothing of now.
    if (goneMs < patience || !membership.isSettled() || needs.isIsolated()) return "wait";
    if (!decided.has(key)) {
      needs.onDuplicate(id, "The appliance that sounded it was not heard any more before its end.");
      needs.onTakeover(id, lateMs);
    }
    return claim(key);
  }

  /** For how long it is known that a neighbour does not go on with what it sounded; negative while it may. */
  function peerGoneMs(peer: string, lostAt: number | null): number {
    const silentMs = (membership.peer(peer)?.silentMs ?? Number.POSITIVE_INFINITY) - PEER_GONE_MS;
    return lostAt === null ? silentMs : Math.max(silentMs, clock.monotonicMs() - lostAt - PEER_RETURN_MS);
  }

  return {
    decide,
    forecast(id, group) {
      const order = membership.activationOrder(group);
      const peers = evidenceForGroup(id, group.id).map(([peer]) => peer);
      const place = order[0] === ownId ? ownId : order.join();
      return { holder: peers[0] ?? order[0] ?? ownId, equivalenceKey: [place, ...peers.sort()].join(" ") };
    },
    expectStart(id) {
      decided.delete(id);
      waiting.set(id, { seenAt: clock.monotonicMs(), latest: Number.POSITIVE_INFINITY, isLast: false });
    },
    receive({ endpoint, boot, sounding: starts, over: ends, covers }) {
      pruneOld();
      const now = clock.monotonicMs();
      for (const by of evidence.values()) {
        const said = by.get(endpoint);
        if (said?.kind === "sounding" && said.boot !== boot) said.lostAt ??= now;
      }
      const news: PeerSound[] = [];
      const note = (id: string, kind: Evidence["kind"]): void => {
        const by = evidence.get(id) ?? new Map<string, Evidence>();
        const said = by.get(endpoint);
        const groups = covers?.[id] ? new Set(covers[id]) : null;
        if (said?.kind === kind && said.boot === boot) {
          said.groups = groups;
          return;
        }
        by.set(endpoint, { kind, at: now, boot, lostAt: null, groups });
        evidence.set(id, by);
        if (!said) news.push({ id, groups });
      };
      for (const id of starts) note(id, "sounding");
      for (const id of ends) note(id, "over");
      return news;
    },
    markStarted(began) {
      const key = keyOf(began);
      waiting.delete(key);
      decided.delete(key);
      sounding.set(key, { ...began, at: clock.monotonicMs() });
    },
    markEnded(ended) {
      const key = keyOf(ended);
      const began = sounding.get(key);
      if (began && sounding.delete(key)) over.set(key, { ...began, at: clock.monotonicMs() });
    },
    heartbeatFields() {
      pruneOld();
      const now = idsOf(sounding);
      const before = clock.monotonicMs() - MAX_LATENESS_MS;
      return {
        ...{ armed: waiting.size, sounding: [...now] },
        // What goes on for some groups is not over.
        over: [...idsOf(over)].filter((id) => !now.has(id)),
        // By then nobody takes it over any more.
        covers: coversOf([...[...over.values()].filter(({ at }) => at >= before), ...sounding.values()]),
      };
    },
    isBusy: () => waiting.size > 0 || sounding.size > 0,
  };
}

function keyOf({ id, part }: Pick<ActiveSound, "id" | "part">): string {
  return part === null ? id : `${id}/${part}`;
}

function idsOf(told: ReadonlyMap<string, SoundRecord>): Set<string> {
  return new Set([...told.values()].map(({ id }) => id));
}

/** The groups of messages of which no part goes to all. */
function coversOf(told: readonly SoundRecord[]): Record<string, string[]> {
  const covers = new Map<string, Set<string> | null>();
  for (const { id, groups } of told) {
    const before = covers.get(id);
    if (groups === null || before === null) covers.set(id, null);
    else covers.set(id, new Set([...(before ?? []), ...groups]));
  }
  const named = [...covers].flatMap(([id, groups]): [string, string[]][] => (groups ? [[id, [...groups]]] : []));
  let room = MAX_COVERED_GROUPS;
  const fits = ([, groups]: [string, string[]]): boolean => {
    room -= groups.length;
    return room >= 0;
  };
  return Object.fromEntries(named.sort(([, one], [, other]) => one.length - other.length).filter(fits));
}
