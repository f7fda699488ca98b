/**
 * Failover election by bell: which appliance of a group rings. The first one of the activation order (membership.ts) wins the
 * election; the next ones wait for it and ring if it has not. There is no leader that lasts.
 */

import type { Clock } from "../lib/clock.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { PeerHeartbeat } from "./heartbeat.ts";
import type { FailoverGroup, FailoverMembership } from "./membership.ts";

/** Whether a sound plays here now: `go`, `wait`, or `yield` if another appliance has played it. */
export type Duty = "go" | "wait" | "yield";

/** A sound (a bell or notification) that several appliances could play. */
export interface DutyRequest {
  id: string;
  /** Scheduled time, epoch ms. */
  at: number;
  /** The groups of its devices. Empty: only this appliance can play it. */
  groups: readonly FailoverGroup[];
  /** Id of the group if the sound goes to one group in place of another appliance. */
  part?: string | null;
}

/** A sound that plays here. */
export interface ActiveSound {
  id: string;
  part: string | null;
  /** Ids of the groups that it is limited to; null for all devices. */
  groups: readonly string[] | null;
}

/**
 * A sound that a peer reported for the first time, with the groups that it is limited to there; null for all devices.
 */
export interface PeerSound {
  id: string;
  groups: ReadonlySet<string> | null;
}

/** The expected player of a sound at a group's devices. */
export interface DutyForecast {
  /** The appliance that has played it, else the first one of the activation order. */
  holder: string;
  /** Equal for groups with the same activation order and evidence. */
  equivalenceKey: string;
}

export interface RingDutyDeps {
  ownId: string;
  clock: Pick<Clock, "now" | "monotonicMs">;
  membership: Pick<FailoverMembership, "isSettled" | "activationOrder" | "peer" | "activeMs">;
  /** No network, no cloud and no peer can be reached. */
  isIsolated(): boolean;
  /** Called when a sound is played although a peer may have played it, with the reason. */
  onDuplicate(id: string, why: string): void;
  /** Called when a sound is played in place of another appliance, `lateMs` after its time. */
  onTakeover(id: string, lateMs: number): void;
}

/** Decides which appliance plays: exactly one if possible, two rather than none. */
export interface RingDuty {
  decide(due: DutyRequest): Duty;
  /** The expected player at a group's devices. */
  forecast(id: string, group: FailoverGroup): DutyForecast;
  /** A sound was distributed (again): it waits for its time. */
  expectStart(id: string): void;
  /** Handles a peer's heartbeat. Returns sounds that it reports for the first time. */
  receive(beat: PeerHeartbeat): PeerSound[];
  /** The first packet was sent here. */
  markStarted(sounding: ActiveSound): void;
  /** It was played to its end or stopped here. */
  markEnded(sounding: Pick<ActiveSound, "id" | "part">): void;
  /** Fields for the next heartbeat. */
  heartbeatFields(): Pick<PeerHeartbeat, "armed" | "sounding" | "over" | "covers">;
  /** A sound plays here or waits for its time. */
  isBusy(): boolean;
}

/**
 * Silence after which a playing peer counts as gone: three heartbeats.
 * @source docs/decisions/0303-failover-timing.md
 */
const PEER_GONE_MS = 3_000;
/** Time for a restarted peer to continue its sounds. @source docs/decisions/0303-failover-timing.md */
const PEER_RETURN_MS = 1_000;
/** Time for peers to find an appliance that was away. @source docs/decisions/0303-failover-timing.md */
const DISCOVERY_MS = 6_000;
/** A sound is dropped when it is later than this. @source docs/decisions/0040-replication.md, Section 5 */
const MAX_LATENESS_MS = 30_000;
/** A waiting sound that is not asked for is dropped. @source docs/decisions/0303-failover-timing.md */
const WAITING_TIMEOUT_MS = 60_000;
/** How long ended sounds are reported to peers. */
const RETENTION_MS = 180_000;
/**
 * Groups named in one heartbeat; sounds beyond that are reported for all devices.
 * @source docs/decisions/0303-failover-timing.md
 */
const MAX_COVERED_GROUPS = 1_500;

interface Evidence {
  kind: "sounding" | "over";
  /** Monotonic. */
  at: number;
  /** The peer's process that reported it. */
  boot: string;
  /** Since when a later process of the peer does not report it; monotonic. */
  lostAt: number | null;
  groups: ReadonlySet<string> | null;
}

/** A sound that plays or played here; `at` is monotonic. */
interface SoundRecord extends ActiveSound {
  at: number;
}

export function createRingDuty(deps: RingDutyDeps): RingDuty {
  const { ownId, clock, membership } = deps;
  /** By sound, with the latest wall time at which it is this appliance's turn. */
  const waiting = new Map<string, { seenAt: number; latest: number; isLast: boolean }>();
  /** Waiting sounds whose turn has come: devices may have been activated. */
  const decided = new Set<string>();
  const sounding = new Map<string, SoundRecord>();
  const over = new Map<string, SoundRecord>();
  /** By sound, then by peer. */
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

  /** Peers that played it at a group's devices. */
  const evidenceForGroup = (id: string, groupId: string): [string, Evidence][] =>
    [...(evidence.get(id) ?? [])].filter(([, { groups }]) => groups === null || groups.has(groupId));

  /** Peers that played it at all of its devices here; evidence for some of the groups is not enough. */
  const evidenceForGroups = (id: string, groups: readonly FailoverGroup[]): [string, Evidence][] => {
    const known = groups.map((group) => evidenceForGroup(id, group.id));
    return known.every((each) => each.length > 0) ? [...new Map(known.flat())] : [];
  };

  /** Position of this appliance in the activation order without some members. */
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
        // A peer with a slow clock is not late.
        const aheadMs = Math.max(0, ...before.map((member) => membership.peer(member)?.aheadMs ?? 0));
        return rank === 0 ? 0 : rank * group.timeoutMs + Math.min(aheadMs, MAX_LATENESS_MS / 2);
      }),
    );

  function decide({ id, at, groups, part = null }: DutyRequest): Duty {
    const key = keyOf({ id, part });
    if (groups.length === 0 || sounding.has(key)) return "go";
    const lateMs = clock.now() - at;
    const peerEvidence = evidenceForGroups(id, groups);
    if (peerEvidence.some(([, { kind }]) => kind === "over")) return standDown(key);
    // An appliance that missed the scheduled time comes last: others have started to take over.
    const isLast = lateMs > membership.activeMs();
    const before = waiting.get(key);
    const latest = before?.isLast === isLast ? before.latest : Number.POSITIVE_INFINITY;
    if (isLast && before && !before.isLast) decided.delete(key);
    waiting.set(key, { seenAt: clock.monotonicMs(), latest, isLast });
    if (peerEvidence.length > 0) return decideAfterPeerStart(id, key, groups, peerEvidence, lateMs);
    if (!membership.isSettled()) return "wait";
    if (decided.has(key)) return claim(key);
    // A peer that played in the meantime may not have been heard yet.
    if (
      isLast &&
      membership.activeMs() < DISCOVERY_MS &&
      groups.some((group) => membership.activationOrder(group).length === 1)
    )
      return "wait";
    const delayMs = waitMs(groups, new Set(), isLast);
    const from = clock.now() + Math.max(0, -lateMs) + delayMs;
    // An appliance that moves up waits until the one that moved up before it could be heard.
    const turnAt = Math.min(latest, from);
    waiting.set(key, { seenAt: clock.monotonicMs(), latest: turnAt, isLast });
    // The first appliance prepares before the scheduled time.
    if (delayMs > 0 && clock.now() < turnAt) return "wait";
    if (deps.isIsolated()) return "wait";
    if (delayMs > 0 || part !== null) deps.onTakeover(id, lateMs);
    return claim(key);
  }

  /** A peer started it and did not report its end. */
  function decideAfterPeerStart(
    id: string,
    key: string,
    groups: readonly FailoverGroup[],
    peerEvidence: readonly [string, Evidence][],
    lateMs: number,
  ): Duty {
    const goneMs = Math.min(...peerEvidence.map(([peer, { lostAt }]) => peerGoneMs(peer, lostAt)));
    if (goneMs < 0) return lateMs >= MAX_LATENESS_MS - 1_000 ? standDown(key) : "wait";
    if (lateMs >= MAX_LATENESS_MS) return standDown(key);
    const delayMs = waitMs(groups, new Set(peerEvidence.map(([peer]) => peer)));
    // Delayed heartbeats say nothing about the present.
    if (goneMs < delayMs || !membership.isSettled() || deps.isIsolated()) return "wait";
    if (!decided.has(key)) {
      deps.onDuplicate(id, sentence("ring.player-lost"));
      deps.onTakeover(id, lateMs);
    }
    return claim(key);
  }

  /** For how long it is certain that a peer does not continue a sound; negative while it may. */
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
        const known = by.get(endpoint);
        if (known?.kind === "sounding" && known.boot !== boot) known.lostAt ??= now;
      }
      const newSounds: PeerSound[] = [];
      const recordEvidence = (id: string, kind: Evidence["kind"]): void => {
        const by = evidence.get(id) ?? new Map<string, Evidence>();
        const known = by.get(endpoint);
        const groups = covers?.[id] ? new Set(covers[id]) : null;
        if (known?.kind === kind && known.boot === boot) {
          known.groups = groups;
          return;
        }
        by.set(endpoint, { kind, at: now, boot, lostAt: null, groups });
        evidence.set(id, by);
        if (!known) newSounds.push({ id, groups });
      };
      for (const id of starts) recordEvidence(id, "sounding");
      for (const id of ends) recordEvidence(id, "over");
      return newSounds;
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
        // Still playing for some groups: not over.
        over: [...idsOf(over)].filter((id) => !now.has(id)),
        // Older sounds are too late for a takeover.
        covers: coversOf([...[...over.values()].filter(({ at }) => at >= before), ...sounding.values()]),
      };
    },
    isBusy: () => waiting.size > 0 || sounding.size > 0,
  };
}

function keyOf({ id, part }: Pick<ActiveSound, "id" | "part">): string {
  return part === null ? id : `${id}/${part}`;
}

function idsOf(records: ReadonlyMap<string, SoundRecord>): Set<string> {
  return new Set([...records.values()].map(({ id }) => id));
}

/** The groups of sounds that are limited to groups in all their parts. */
function coversOf(records: readonly SoundRecord[]): Record<string, string[]> {
  const covers = new Map<string, Set<string> | null>();
  for (const { id, groups } of records) {
    const before = covers.get(id);
    if (groups === null || before === null) covers.set(id, null);
    else covers.set(id, new Set([...(before ?? []), ...groups]));
  }
  const named = [...covers].flatMap(([id, groups]): [string, string[]][] => (groups ? [[id, [...groups]]] : []));
  let remaining = MAX_COVERED_GROUPS;
  const fits = ([, groups]: [string, string[]]): boolean => {
    remaining -= groups.length;
    return remaining >= 0;
  };
  return Object.fromEntries(named.sort(([, one], [, other]) => one.length - other.length).filter(fits));
}
