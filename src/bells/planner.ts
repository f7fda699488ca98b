import type { Clock } from "../lib/clock.ts";
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

/** Where the planner learns when something is due. */
export interface PlanSource {
  /** Everything that can be planned. */
  owners(reader: StoreReader): { id: string; kind: OwnerKind }[];
  /** What is due from `fromMs` (included) to `toMs` (not included), in order of time; empty for what is not there. */
  occurrences(reader: StoreReader, kind: OwnerKind, owner: string, fromMs: number, toMs: number): Occurrence[];
}

/** Keeps the rings of the next days as rows, so that a restart rings what was planned. */
export interface Planner {
  /**
   * Plans anew what one schedule rings, in the transaction that writes it; `gone` takes its rings away. Where very many are
   * written one after the other, most are marked stale instead.
   */
  replan(tx: Transaction, kind: OwnerKind, owner: string, gone?: boolean): void;
  /** What these are planned from has changed: they are planned anew in slices, and before they next ring. */
  markDirty(tx: Transaction, owners: readonly string[]): void;
  /**
   * To be called at start and when the clock was set back: finds what has no plan yet, plans that rest on what is no
   * longer so, and those made while the clock was ahead.
   */
  revalidate(tx: Transaction): void;
  /** Plans those of `owners` anew that need it. */
  replanDirty(tx: Transaction, owners: readonly RingRow[]): void;
  /** True while something is to be planned anew. */
  hasDirty(): boolean;
  /** Plans what is stale and what is planned for less than 48 h, nearest first, in slices of some ms; forgets what is long over. */
  extendHorizon(signal: AbortSignal): Promise<void>;
}

/** What the planner needs. */
export interface PlannerDeps {
  store: BellStore;
  clock: Clock;
  source: PlanSource;
  /** How long what became of rings is kept; 40 days unless given. */
  keptMs?: number;
  /** What all plans rest on beside the schedules (time zone data, clock rules, the appliance's zone), in one text. */
  basis(): string;
}

/** What the bells need of the store. */
export type BellStore = StoreReader & Pick<Store, "write">;

/** Rings are always planned for at least this long. @source bells.md, Running */
const MIN_HORIZON_MS = 48 * 3_600_000;
/** own choice: planned a day further, so that this is done once a day. */
const TARGET_HORIZON_MS = MIN_HORIZON_MS + 24 * 3_600_000;
/** Of very many stale plans those go first that ring within so long. own choice */
const URGENT_MS = 3_600_000;
/** own choice */
const RETENTION_MS = 40 * 86_400_000;
/** A ring may begin so long after its time. @source bells.md, Running */
export const LATE_LIMIT_MS = 30_000;

/** Others write in the same group. */
const TIME_SLICE_MS = 4;
const MAX_PLANS_PER_CHUNK = 200;
const MAX_RINGS_DELETED = 300;
/** Plans made along with writes take at most so much of so much time. own choice */
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
const MARK_DIRTY = "UPDATE bell_plans SET stale = 1 WHERE owner IN (SELECT value FROM json_each(?))";
const UPSERT_DIRTY = `INSERT INTO bell_plans (owner, kind, until, stale, made) VALUES (?, ?, ?, 1, 0)
  ON CONFLICT (owner) DO UPDATE SET stale = 1`;
const UPSERT_PLANNED = `INSERT INTO bell_plans (owner, kind, until, stale, made) VALUES (?, ?, ?, 0, ?)
  ON CONFLICT (owner) DO UPDATE SET until = excluded.until, stale = 0, made = excluded.made`;

/** Makes a planner. */
export function createPlanner(needs: PlannerDeps): Planner {
  const { store, clock, source, keptMs = RETENTION_MS } = needs;
  /** What plans have taken of the writes since then, on the clock that is never set. */
  let inlineUsage = { since: Number.NEGATIVE_INFINITY, ms: 0 };

  /** Rings on from where the plan ended. What is in the past by now was missed: it is for the ticker to say so. */
  const extendPlan = (tx: Transaction, { owner, kind, until }: Plan, now: number): void => {
    const to = now + TARGET_HORIZON_MS;
    if (until < to) {
      for (const ring of source.occurrences(tx, kind, owner, until, to)) insertRing(tx, kind, owner, ring);
      tx.run("UPDATE bell_plans SET until = ? WHERE owner = ?", to, owner);
    }
  };

  const rebuildPlan = (tx: Transaction, { owner, kind, until }: Plan, now: number, gone = false): void => {
    const from = Math.min(until, now - LATE_LIMIT_MS);
    const to = Math.max(until, now + TARGET_HORIZON_MS);
    const rings = gone ? [] : source.occurrences(tx, kind, owner, from, to);
    const wanted = new Map(rings.map((ring) => [ring.id, ring]));
    for (const row of tx.all<Pick<RingRow, "pk" | "id" | "at" | "state">>(SELECT_OPEN_RINGS, owner)) {
      const ring = wanted.get(row.id);
      const wasDue = row.at < now - LATE_LIMIT_MS;
      if (row.state === "started" || (wasDue && !ring) || ring?.at === row.at) wanted.delete(row.id);
      else if (row.state === "planned") deleteRing(tx, row.pk);
      else cancelRing(tx, row.pk);
    }
    // What a change puts into the past was never to be rung then.
    for (const ring of wanted.values()) if (ring.at > now || ring.at >= until) insertRing(tx, kind, owner, ring);
    tx.run(UPSERT_PLANNED, owner, kind, to, now);
    tx.emit("rings.planned", {});
  };

  const updatePlan = (tx: Transaction, plan: Plan, now: number): void =>
    plan.stale === 1 ? rebuildPlan(tx, plan, now) : extendPlan(tx, plan, now);

  const planChunk = (): Promise<number> =>
    store.write((tx) => {
      const began = clock.monotonicMs();
      const now = clock.now();
      let done = 0;
      for (const plan of nextPlans(tx, now)) {
        updatePlan(tx, plan, now);
        done++;
        if (clock.monotonicMs() - began >= TIME_SLICE_MS) break;
      }
      return done as Sync<number>;
    });

  const deleteExpired = (): Promise<number> =>
    store.write((tx) => deleteExpiredRings(tx, clock.now() - keptMs, MAX_RINGS_DELETED) as Sync<number>);

  return {
    replan(tx, kind, owner, gone = false) {
      const now = clock.now();
      const began = clock.monotonicMs();
      if (began - inlineUsage.since > INLINE_WINDOW_MS) inlineUsage = { since: began, ms: 0 };
      if (!gone && inlineUsage.ms > INLINE_BUDGET_MS) {
        tx.run(UPSERT_DIRTY, owner, kind, now);
        return;
      }
      const plan = tx.one<Plan>(SELECT_PLAN, owner) ?? { owner, kind, until: now, stale: 1 };
      rebuildPlan(tx, plan, now, gone);
      if (gone) tx.run("DELETE FROM bell_plans WHERE owner = ?", owner);
      inlineUsage.ms += clock.monotonicMs() - began;
    },
    markDirty(tx, owners) {
      if (owners.length > 0) tx.run(MARK_DIRTY, JSON.stringify(owners));
    },
    revalidate(tx) {
      addMissingPlans(tx, source, clock.now());
      const basis = needs.basis();
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
    hasDirty: () => store.all(SELECT_DIRTY, 1).length > 0,
    async extendHorizon(signal) {
      while (!signal.aborted && nextPlans(store, clock.now(), 1).length > 0) {
        if ((await planChunk()) === 0) break;
      }
      while (!signal.aborted && hasExpiredRings(store, clock.now() - keptMs)) await deleteExpired();
    },
  };
}

function nextPlans(reader: Pick<StoreReader, "all">, now: number, most = MAX_PLANS_PER_CHUNK): Plan[] {
  const stale = reader.all<Plan>(SELECT_DIRTY, most);
  if (stale.length === 0) return reader.all<Plan>(SELECT_SHORT_HORIZON, now + MIN_HORIZON_MS, most);
  if (stale.length < most) return stale;
  const nearest = reader.all<Plan>(SELECT_NEAREST_DIRTY, now + URGENT_MS, most);
  return nearest.length > 0 ? nearest : stale;
}

/** Plans for what came into being without them. */
function addMissingPlans(tx: Transaction, source: PlanSource, now: number): void {
  const known = new Set(tx.all<{ owner: string }>("SELECT owner FROM bell_plans").map(({ owner }) => owner));
  for (const { id, kind } of source.owners(tx)) if (!known.has(id)) tx.run(UPSERT_DIRTY, id, kind, now);
}
