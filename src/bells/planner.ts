import type { Clock } from "../base/clock.ts";
import type { Reader, Store, Sync, Transaction } from "../store/store.ts";
import {
  dropOldRings,
  dropRing,
  hasOldRings,
  insertRing,
  type Occurrence,
  type OwnerKind,
  type RingRow,
  withdrawRing,
} from "./ring-book.ts";

/** Where the planner learns when something is due. */
export interface PlanSource {
  /** Everything that can be planned. */
  owners(reader: Reader): { id: string; kind: OwnerKind }[];
  /** What is due from `fromMs` (included) to `toMs` (not included), in order of time; empty for what is not there. */
  occurrences(reader: Reader, kind: OwnerKind, owner: string, fromMs: number, toMs: number): Occurrence[];
}

/** Keeps the rings of the next days as rows, so that a restart rings what was planned. */
export interface Planner {
  /**
   * Plans anew what one schedule rings, in the transaction that writes it; `gone` takes its rings away. Where very many are
   * written one after the other, most are marked stale instead.
   */
  replan(tx: Transaction, kind: OwnerKind, owner: string, gone?: boolean): void;
  /** What these are planned from has changed: they are planned anew in slices, and before they next ring. */
  markStale(tx: Transaction, owners: readonly string[]): void;
  /**
   * To be called at start and when the clock was set back: finds what has no plan yet, plans that rest on what is no
   * longer so, and those made while the clock was ahead.
   */
  review(tx: Transaction): void;
  /** Plans those of `owners` anew that need it. */
  freshen(tx: Transaction, owners: readonly RingRow[]): void;
  /** True while something is to be planned anew. */
  hasStale(): boolean;
  /** Plans what is stale and what is planned for less than 48 h, nearest first, in slices of some ms; forgets what is long over. */
  extend(signal: AbortSignal): Promise<void>;
}

/** What the planner needs. */
export interface PlannerNeeds {
  store: BellStore;
  clock: Clock;
  source: PlanSource;
  /** How long what became of rings is kept; 40 days unless given. */
  keptMs?: number;
  /** What all plans rest on beside the schedules (time zone data, clock rules, the appliance's zone), in one text. */
  basis(): string;
}

/** What the bells need of the store. */
export type BellStore = Reader & Pick<Store, "write">;

/** Rings are always planned for at least this long. @source bells.md, Running */
const PLANNED_MS = 48 * 3_600_000;
/** own choice: planned a day further, so that this is done once a day. */
const PLAN_TO_MS = PLANNED_MS + 24 * 3_600_000;
/** Of very many stale plans those go first that ring within so long. own choice */
const NEAR_MS = 3_600_000;
/** own choice */
const KEPT_MS = 40 * 86_400_000;
/** A ring may begin so long after its time. @source bells.md, Running */
export const LATE_LIMIT_MS = 30_000;

/** Others write in the same group. */
const SLICE_MS = 4;
const MOST_IN_SLICE = 200;
const MOST_DROPPED = 300;
/** Plans made along with writes take at most so much of so much time. own choice */
const WITH_WRITES_MS = 4;
const OF_TIME_MS = 20;

interface Plan {
  owner: string;
  kind: OwnerKind;
  until: number;
  stale: number;
}

const PLAN = "SELECT owner, kind, until, stale FROM bell_plans WHERE owner = ?";
const STALE = "SELECT owner, kind, until, stale FROM bell_plans WHERE stale = 1 LIMIT ?";
const NEAREST_STALE = `SELECT p.owner, p.kind, p.until, p.stale FROM bell_rings r JOIN bell_plans p ON p.owner = r.owner
  WHERE r.open = 1 AND r.state = 'planned' AND r.at <= ? AND p.stale = 1 GROUP BY p.owner LIMIT ?`;
const SHORT = "SELECT owner, kind, until, stale FROM bell_plans WHERE until < ? LIMIT ?";
const OPEN = `SELECT pk, id, at, state FROM bell_rings WHERE owner = ? AND open = 1`;
const MARK = "UPDATE bell_plans SET stale = 1 WHERE owner IN (SELECT value FROM json_each(?))";
const KEEP_STALE = `INSERT INTO bell_plans (owner, kind, until, stale, made) VALUES (?, ?, ?, 1, 0)
  ON CONFLICT (owner) DO UPDATE SET stale = 1`;
const KEEP = `INSERT INTO bell_plans (owner, kind, until, stale, made) VALUES (?, ?, ?, 0, ?)
  ON CONFLICT (owner) DO UPDATE SET until = excluded.until, stale = 0, made = excluded.made`;

/** Makes a planner. */
export function createPlanner(needs: PlannerNeeds): Planner {
  const { store, clock, source, keptMs = KEPT_MS } = needs;
  /** What plans have taken of the writes since then, on the clock that is never set. */
  let withWrites = { since: Number.NEGATIVE_INFINITY, ms: 0 };

  /** Rings on from where the plan ended. What is in the past by now was missed: it is for the ticker to say so. */
  const lengthen = (tx: Transaction, { owner, kind, until }: Plan, now: number): void => {
    const to = now + PLAN_TO_MS;
    if (until < to) {
      for (const ring of source.occurrences(tx, kind, owner, until, to)) insertRing(tx, kind, owner, ring);
      tx.run("UPDATE bell_plans SET until = ? WHERE owner = ?", to, owner);
    }
  };

  const anew = (tx: Transaction, { owner, kind, until }: Plan, now: number, gone = false): void => {
    const from = Math.min(until, now - LATE_LIMIT_MS);
    const to = Math.max(until, now + PLAN_TO_MS);
    const rings = gone ? [] : source.occurrences(tx, kind, owner, from, to);
    const wanted = new Map(rings.map((ring) => [ring.id, ring]));
    for (const row of tx.all<Pick<RingRow, "pk" | "id" | "at" | "state">>(OPEN, owner)) {
      const ring = wanted.get(row.id);
      const wasDue = row.at < now - LATE_LIMIT_MS;
      if (row.state === "started" || (wasDue && !ring) || ring?.at === row.at) wanted.delete(row.id);
      else if (row.state === "planned") dropRing(tx, row.pk);
      else withdrawRing(tx, row.pk);
    }
    // What a change puts into the past was never to be rung then.
    for (const ring of wanted.values()) if (ring.at > now || ring.at >= until) insertRing(tx, kind, owner, ring);
    tx.run(KEEP, owner, kind, to, now);
    tx.emit("rings.planned", {});
  };

  const take = (tx: Transaction, plan: Plan, now: number): void =>
    plan.stale === 1 ? anew(tx, plan, now) : lengthen(tx, plan, now);

  const slice = (): Promise<number> =>
    store.write((tx) => {
      const began = clock.monotonicMs();
      const now = clock.now();
      let done = 0;
      for (const plan of nextPlans(tx, now)) {
        take(tx, plan, now);
        done++;
        if (clock.monotonicMs() - began >= SLICE_MS) break;
      }
      return done as Sync<number>;
    });

  const forget = (): Promise<number> =>
    store.write((tx) => dropOldRings(tx, clock.now() - keptMs, MOST_DROPPED) as Sync<number>);

  return {
    replan(tx, kind, owner, gone = false) {
      const now = clock.now();
      const began = clock.monotonicMs();
      if (began - withWrites.since > OF_TIME_MS) withWrites = { since: began, ms: 0 };
      if (!gone && withWrites.ms > WITH_WRITES_MS) {
        tx.run(KEEP_STALE, owner, kind, now);
        return;
      }
      const plan = tx.one<Plan>(PLAN, owner) ?? { owner, kind, until: now, stale: 1 };
      anew(tx, plan, now, gone);
      if (gone) tx.run("DELETE FROM bell_plans WHERE owner = ?", owner);
      withWrites.ms += clock.monotonicMs() - began;
    },
    markStale(tx, owners) {
      if (owners.length > 0) tx.run(MARK, JSON.stringify(owners));
    },
    review(tx) {
      adopt(tx, source, clock.now());
      const basis = needs.basis();
      const known = tx.one<{ basis: string }>("SELECT basis FROM bell_basis");
      if (known?.basis === basis) tx.run("UPDATE bell_plans SET stale = 1 WHERE made > ?", clock.now());
      else {
        tx.run("UPDATE bell_plans SET stale = 1");
        tx.run(
          "INSERT INTO bell_basis (only_one, basis) VALUES (1, ?) ON CONFLICT DO UPDATE SET basis = excluded.basis",
          basis,
        );
      }
    },
    freshen(tx, rings) {
      const now = clock.now();
      for (const owner of new Set(rings.map((ring) => ring.owner))) {
        const plan = tx.one<Plan>(PLAN, owner);
        if (plan?.stale === 1) anew(tx, plan, now);
      }
    },
    hasStale: () => store.all(STALE, 1).length > 0,
    async extend(signal) {
      while (!signal.aborted && nextPlans(store, clock.now(), 1).length > 0) {
        if ((await slice()) === 0) break;
      }
      while (!signal.aborted && hasOldRings(store, clock.now() - keptMs)) await forget();
    },
  };
}

function nextPlans(reader: Pick<Reader, "all">, now: number, most = MOST_IN_SLICE): Plan[] {
  const stale = reader.all<Plan>(STALE, most);
  if (stale.length === 0) return reader.all<Plan>(SHORT, now + PLANNED_MS, most);
  if (stale.length < most) return stale;
  const nearest = reader.all<Plan>(NEAREST_STALE, now + NEAR_MS, most);
  return nearest.length > 0 ? nearest : stale;
}

/** Plans for what came into being without them. */
function adopt(tx: Transaction, source: PlanSource, now: number): void {
  const known = new Set(tx.all<{ owner: string }>("SELECT owner FROM bell_plans").map(({ owner }) => owner));
  for (const { id, kind } of source.owners(tx)) if (!known.has(id)) tx.run(KEEP_STALE, id, kind, now);
}
