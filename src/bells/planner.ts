import type { Clock } from "../lib/clock.ts";
import { createTimeSlice } from "../lib/time-slice.ts";
import type { Store, StoreReader, Sync, Transaction } from "../store/store.ts";
import {
  cancelRing,
  deleteExpiredRings,
  deleteRing,
  hasExpiredRings,
  insertRing,
  type Occurrence,
  type OwnerKind,
  type RingRow,
} from "./ring-repository.ts";

/** Computes the occurrences that the planner stores. */
export interface PlanSource {
  /** All schedules that can be planned. */
  owners(reader: StoreReader): { id: string; kind: OwnerKind }[];
  /**
   * Occurrences from `fromMs` (included) to `toMs` (not included), sorted by time; empty for a schedule that does not exist. May
   * leave out those after the first `limit`.
   */
  occurrences(
    reader: StoreReader,
    kind: OwnerKind,
    owner: string,
    fromMs: number,
    toMs: number,
    limit?: number,
  ): Occurrence[];
}

/** Stores the rings of the next days as rows, so that a restart does not lose them. */
export interface Planner {
  /**
   * Replans one schedule in the transaction that writes it; `gone` deletes its rings. In a series of many writes most
   * schedules are marked dirty instead and replanned later.
   */
  replan(tx: Transaction, kind: OwnerKind, owner: string, isDeleted?: boolean): void;
  /** Marks plans as dirty because their inputs changed; they are replanned in chunks, and in any case before they next ring. */
  markDirty(tx: Transaction, owners: readonly string[]): void;
  /**
   * Call at start and after a clock step backward: marks missing plans, plans with outdated inputs, and plans that were
   * made while the clock was ahead.
   */
  revalidate(tx: Transaction): void;
  /** Replans the dirty plans among `owners`. */
  replanDirty(tx: Transaction, owners: readonly RingRow[]): void;
  hasDirty(): boolean;
  /** Replans dirty plans and extends plans to the 48 h horizon, nearest rings first, in time slices; deletes rings past their retention. */
  extendHorizon(signal: AbortSignal): Promise<void>;
}

export interface PlannerDeps {
  store: BellStore;
  clock: Clock;
  source: PlanSource;
  /** Retention of finished rings; 40 days by default. */
  retentionMs?: number;
  /** All inputs of plans besides the schedules (time zone data, clock rules, the zone of the appliance), as one string. */
  basis(): string;
}

export type BellStore = StoreReader & Pick<Store, "write">;

/** Rings are always planned at least this far ahead. @source docs/decisions/0015-bell-engine.md, Running */
const MIN_HORIZON_MS = 48 * 3_600_000;
/** One day more, so that plans are extended once a day. @source docs/decisions/0200-bell-engine-limits.md, Planner */
const TARGET_HORIZON_MS = MIN_HORIZON_MS + 24 * 3_600_000;
/** Of many dirty plans, those with rings within this time are replanned first. @source docs/decisions/0200-bell-engine-limits.md, Planner */
const URGENT_MS = 3_600_000;
/** Retention of finished rings. @source docs/decisions/0200-bell-engine-limits.md, Planner */
const RETENTION_MS = 40 * 86_400_000;
/** A ring may start this long after its time; later it is missed. @source docs/decisions/0015-bell-engine.md, Running */
export const LATE_LIMIT_MS = 30_000;

const MAX_PLANS_PER_CHUNK = 200;
const MAX_RINGS_DELETED = 300;
/** Rings that one step adds to a plan; more than a ring list has at one instant. @source docs/decisions/0451-calendars.md, Limits */
const MAX_RINGS_PER_STEP = 600;
/** Replanning inside a write may use this much of each window; beyond it the plan is marked dirty. @source docs/decisions/0200-bell-engine-limits.md, Planner */
const INLINE_BUDGET_MS = 4;
const INLINE_WINDOW_MS = 20;

interface Plan {
  owner: string;
  kind: OwnerKind;
  until: number;
  stale: number;
}

const SELECT_PLAN = "SELECT owner, kind, until, stale FROM bell_plans WHERE owner = ?";
const SELECT_DIRTY = "SELECT owner, kind, until, stale FROM bell_plans WHERE stale = 1 LIMIT ?";
const SELECT_NEAREST_DIRTY = `SELECT p.owner, p.kind, p.until, p.stale FROM bell_rings r JOIN bell_plans p ON p.owner = r.owner
  WHERE r.open = 1 AND r.state = 'planned' AND r.at <= ? AND p.stale = 1 GROUP BY p.owner LIMIT ?`;
const SELECT_SHORT_HORIZON = "SELECT owner, kind, until, stale FROM bell_plans WHERE until < ? LIMIT ?";
const SELECT_OPEN_RINGS = `SELECT pk, id, at, state FROM bell_rings WHERE owner = ? AND open = 1`;
const DELETE_PLANNED_FROM = "DELETE FROM bell_rings WHERE owner = ? AND open = 1 AND state = 'planned' AND at >= ?";
const MARK_DIRTY = "UPDATE bell_plans SET stale = 1 WHERE owner IN (SELECT value FROM json_each(?))";
const UPSERT_DIRTY = `INSERT INTO bell_plans (owner, kind, until, stale, made) VALUES (?, ?, ?, 1, 0)
  ON CONFLICT (owner) DO UPDATE SET stale = 1`;
const UPSERT_PLANNED = `INSERT INTO bell_plans (owner, kind, until, stale, made) VALUES (?, ?, ?, 0, ?)
  ON CONFLICT (owner) DO UPDATE SET until = excluded.until, stale = 0, made = excluded.made`;

export function createPlanner(deps: PlannerDeps): Planner {
  const { store, clock, source, retentionMs = RETENTION_MS } = deps;
  /** Replanning time used inside writes since `since`, on the monotonic clock. */
  let inlineUsage = { since: Number.NEGATIVE_INFINITY, ms: 0 };

  /** Plans with more rings than one step adds; they are extended at once. */
  const unfinished = new Set<string>();

  /** The rings of one step, and the end of what they cover. */
  const nextRings = (
    tx: Transaction,
    { owner, kind }: Pick<Plan, "owner" | "kind">,
    { from, to, now }: { from: number; to: number; now: number },
  ): { rings: Occurrence[]; end: number } => {
    const rings = source.occurrences(tx, kind, owner, from, to, MAX_RINGS_PER_STEP + 1);
    const end = rings[MAX_RINGS_PER_STEP]?.at ?? to;
    if (end < Math.min(to, now + MIN_HORIZON_MS)) unfinished.add(owner);
    else unfinished.delete(owner);
    return { rings: end < to ? rings.filter(({ at }) => at < end) : rings, end };
  };

  /** Appends rings after the end of the plan. The ticker records those that are already in the past as missed. */
  const extendPlan = (tx: Transaction, plan: Plan, now: number): void => {
    const { owner, kind, until } = plan;
    const to = now + TARGET_HORIZON_MS;
    if (until < to) {
      const { rings, end } = nextRings(tx, plan, { from: until, to, now });
      for (const ring of rings) insertRing(tx, kind, owner, ring);
      tx.run("UPDATE bell_plans SET until = ? WHERE owner = ?", end, owner);
    }
  };

  const rebuildPlan = (tx: Transaction, { owner, kind, until }: Plan, now: number, isDeleted = false): void => {
    const from = Math.min(until, now - LATE_LIMIT_MS);
    const to = Math.max(until, now + TARGET_HORIZON_MS);
    const { rings, end } = isDeleted ? { rings: [], end: to } : nextRings(tx, { owner, kind }, { from, to, now });
    if (isDeleted) unfinished.delete(owner);
    // The next step plans the rings after the end of this one.
    if (end < to || isDeleted) tx.run(DELETE_PLANNED_FROM, owner, isDeleted ? now : end);
    const wanted = new Map(rings.map((ring) => [ring.id, ring]));
    for (const row of tx.all<Pick<RingRow, "pk" | "id" | "at" | "state">>(SELECT_OPEN_RINGS, owner)) {
      const ring = wanted.get(row.id);
      const wasDue = row.at < now - LATE_LIMIT_MS;
      if (row.state === "started" || (wasDue && !ring) || ring?.at === row.at) wanted.delete(row.id);
      else if (row.state === "planned") deleteRing(tx, row.pk);
      else cancelRing(tx, row.pk);
    }
    // A ring that a change moves into the past must not ring.
    for (const ring of wanted.values()) if (ring.at > now || ring.at >= until) insertRing(tx, kind, owner, ring);
    tx.run(UPSERT_PLANNED, owner, kind, end, now);
    tx.emit("rings.planned", {});
  };

  const updatePlan = (tx: Transaction, plan: Plan, now: number): void =>
    plan.stale === 1 ? rebuildPlan(tx, plan, now) : extendPlan(tx, plan, now);

  const planChunk = (): Promise<number> =>
    store.write((tx) => {
      // Other writes share the group commit.
      const slice = createTimeSlice(clock);
      const now = clock.now();
      let done = 0;
      for (const plan of nextPlans(tx, now)) {
        updatePlan(tx, plan, now);
        done++;
        if (slice.isOver()) break;
      }
      return done as Sync<number>;
    });

  const deleteExpired = (): Promise<number> =>
    store.write((tx) => deleteExpiredRings(tx, clock.now() - retentionMs, MAX_RINGS_DELETED) as Sync<number>);

  return {
    replan(tx, kind, owner, isDeleted = false) {
      const now = clock.now();
      const began = clock.monotonicMs();
      if (began - inlineUsage.since > INLINE_WINDOW_MS) inlineUsage = { since: began, ms: 0 };
      if (!isDeleted && inlineUsage.ms > INLINE_BUDGET_MS) {
        tx.run(UPSERT_DIRTY, owner, kind, now);
        return;
      }
      const plan = tx.one<Plan>(SELECT_PLAN, owner) ?? { owner, kind, until: now, stale: 1 };
      rebuildPlan(tx, plan, now, isDeleted);
      if (isDeleted) tx.run("DELETE FROM bell_plans WHERE owner = ?", owner);
      inlineUsage.ms += clock.monotonicMs() - began;
    },
    markDirty(tx, owners) {
      if (owners.length > 0) tx.run(MARK_DIRTY, JSON.stringify(owners));
    },
    revalidate(tx) {
      addMissingPlans(tx, source, clock.now());
      const basis = deps.basis();
      const known = tx.one<{ basis: string }>("SELECT basis FROM bell_plan_inputs");
      if (known?.basis === basis) tx.run("UPDATE bell_plans SET stale = 1 WHERE made > ?", clock.now());
      else {
        tx.run("UPDATE bell_plans SET stale = 1");
        tx.run(
          "INSERT INTO bell_plan_inputs (only_one, basis) VALUES (1, ?) ON CONFLICT DO UPDATE SET basis = excluded.basis",
          basis,
        );
      }
    },
    replanDirty(tx, rings) {
      const now = clock.now();
      for (const owner of new Set(rings.map((ring) => ring.owner))) {
        const plan = tx.one<Plan>(SELECT_PLAN, owner);
        if (plan?.stale === 1) rebuildPlan(tx, plan, now);
      }
    },
    hasDirty: () => unfinished.size > 0 || store.all(SELECT_DIRTY, 1).length > 0,
    async extendHorizon(signal) {
      while (!signal.aborted && nextPlans(store, clock.now(), 1).length > 0) {
        if ((await planChunk()) === 0) break;
      }
      if (!signal.aborted) unfinished.clear();
      while (!signal.aborted && hasExpiredRings(store, clock.now() - retentionMs)) await deleteExpired();
    },
  };
}

function nextPlans(reader: Pick<StoreReader, "all">, now: number, limit = MAX_PLANS_PER_CHUNK): Plan[] {
  const stale = reader.all<Plan>(SELECT_DIRTY, limit);
  if (stale.length === 0) return reader.all<Plan>(SELECT_SHORT_HORIZON, now + MIN_HORIZON_MS, limit);
  if (stale.length < limit) return stale;
  const nearest = reader.all<Plan>(SELECT_NEAREST_DIRTY, now + URGENT_MS, limit);
  return nearest.length > 0 ? nearest : stale;
}

/** Adds plans for schedules that have none, such as replicated or restored ones. */
function addMissingPlans(tx: Transaction, source: PlanSource, now: number): void {
  const known = new Set(tx.all<{ owner: string }>("SELECT owner FROM bell_plans").map(({ owner }) => owner));
  for (const { id, kind } of source.owners(tx)) if (!known.has(id)) tx.run(UPSERT_DIRTY, id, kind, now);
}
