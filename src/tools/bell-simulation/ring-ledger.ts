import type { MissCause, RingRow } from "../../bells/ring-repository.ts";
import { type CompiledSchedule, eachRing } from "../../bells/schedule-expansion.ts";
import { DAY_MS } from "../../lib/durations.ts";

/** Totals of a certificate, for all schedules or those of one time zone. */
export interface RingTotals {
  expected: number;
  rung: number;
  late: number;
  missed: number;
  unexplained: number;
  doubled: number;
}

/** A ring that is neither correct nor explained by a disruption. */
export interface RingFinding {
  what:
    | "neither rung nor recorded"
    | "missed without a reason"
    | "rung twice"
    | "rung though not planned"
    | "at a wrong time";
  owner: string;
  at: number;
}

/** Compares the recorded rings with the expected ones, computed by the pure schedule expansion, day by day. */
export interface RingLedger {
  recordStart(ring: RingRow, wall: number): void;
  recordMiss(ring: RingRow, cause: MissCause): void;
  /** The wall clock skipped this range: process down, suspended, or clock set forward. */
  recordOutage(from: number, to: number): void;
  /** The process crashed at this wall time. */
  recordCrash(at: number): void;
  /** Compares everything due before `by` that is not compared yet. */
  settle(by: number): void;
  /** The schedule is replaced by `after` from `at` on. */
  recordScheduleChange(owner: number, at: number, after: CompiledSchedule): void;
  totals(): { all: RingTotals; byZone: Map<string, RingTotals>; findings: readonly RingFinding[] };
}

const LATE_MS = 1_000;
const MAX_LATE_MS = 30_000;
const MAX_FINDINGS = 20;

/** Recorded rings of one schedule that are not compared yet. */
interface UnsettledRings {
  began: { at: number; late: boolean }[];
  missed: { at: number; cause: MissCause }[];
}

/** A ledger of `schedules`, whose ids are their indexes in the list, from `from` on. */
export function createRingLedger(schedules: CompiledSchedule[], from: number): RingLedger {
  const recorded = schedules.map((): UnsettledRings => ({ began: [], missed: [] }));
  const byZone = new Map<string, RingTotals>();
  const findings: RingFinding[] = [];
  let outages: [number, number][] = [];
  let crashes: number[] = [];
  let settled = from;
  const changedAt = new Map<number, number>();

  const addFinding = (sums: RingTotals, what: RingFinding["what"], owner: number, at: number): void => {
    if (what === "rung twice") sums.doubled++;
    else sums.unexplained++;
    if (findings.length < MAX_FINDINGS) findings.push({ what, owner: String(owner), at });
  };

  const isExplained = (at: number, causes: readonly MissCause[]): boolean =>
    outages.some(([start, end]) => at > start - 1_000 && end - at > MAX_LATE_MS - 1_000 && at <= end) ||
    (causes.includes("cut-off") && crashes.some((crash) => Math.abs(crash - at) <= MAX_LATE_MS + 1_000));

  const settleOwner = (owner: number, start: number, by: number): void => {
    const schedule = schedules[owner] as CompiledSchedule;
    const own = recorded[owner] as UnsettledRings;
    const name = schedule.schedule.timeZone;
    const sums = byZone.get(name) ?? emptyTotals();
    byZone.set(name, sums);
    const due: number[] = [];
    eachRing(schedule, start, by, (at) => void due.push(at));
    sums.expected += due.length;
    if (own.began.length === 0 && own.missed.length === 0 && due.length === 0) return;
    const began = new Map<number, { count: number; late: number }>();
    for (const { at, late } of own.began) {
      if (at >= by) continue;
      const entry = began.get(at) ?? { count: 0, late: 0 };
      began.set(at, { count: entry.count + 1, late: entry.late + Number(late) });
    }
    const expected = new Map<number, number>();
    for (const at of due) expected.set(at, (expected.get(at) ?? 0) + 1);
    for (const [at, count] of expected) {
      const entry = began.get(at) ?? { count: 0, late: 0 };
      const late = Math.min(entry.late, count);
      sums.late += late;
      sums.rung += Math.min(entry.count, count) - late;
      for (let more = count; more < entry.count; more++) addFinding(sums, "rung twice", owner, at);
      const causes = own.missed.filter((miss) => miss.at === at).map(({ cause }) => cause);
      for (let missing = entry.count; missing < count; missing++) {
        if (causes.length === 0) addFinding(sums, "neither rung nor recorded", owner, at);
        else if (isExplained(at, causes)) sums.missed++;
        else addFinding(sums, "missed without a reason", owner, at);
      }
    }
    for (const [at, { count }] of began) {
      if (!expected.has(at)) for (let n = 0; n < count; n++) addFinding(sums, "rung though not planned", owner, at);
    }
    own.began = own.began.filter(({ at }) => at >= by);
    own.missed = own.missed.filter(({ at }) => at >= by);
  };

  return {
    recordStart({ owner, at }, wall) {
      const index = Number(owner);
      recorded[index]?.began.push({ at, late: wall - at > LATE_MS });
      if (wall - at > MAX_LATE_MS || at - wall > LATE_MS) {
        const sums = byZone.get(schedules[index]?.schedule.timeZone ?? "") ?? emptyTotals();
        addFinding(sums, "at a wrong time", index, at);
      }
    },
    recordMiss: ({ owner, at }, cause) => void recorded[Number(owner)]?.missed.push({ at, cause }),
    recordOutage(start, end) {
      if (end - start > LATE_MS) outages.push([start, end]);
    },
    recordCrash: (at) => void crashes.push(at),
    settle(by) {
      if (by <= settled) return;
      for (let owner = 0; owner < schedules.length; owner++) {
        settleOwner(owner, Math.max(settled, changedAt.get(owner) ?? 0), by);
      }
      settled = by;
      outages = outages.filter(([, end]) => end > by - 2 * DAY_MS);
      crashes = crashes.filter((at) => at > by - 2 * DAY_MS);
    },
    recordScheduleChange(owner, at, after) {
      settleOwner(Number(owner), Math.max(settled, changedAt.get(owner) ?? 0), at);
      changedAt.set(owner, at);
      schedules[owner] = after;
    },
    totals() {
      const all = emptyTotals();
      for (const sums of byZone.values())
        for (const key of Object.keys(all) as (keyof RingTotals)[]) all[key] += sums[key];
      return { all, byZone, findings };
    },
  };
}

function emptyTotals(): RingTotals {
  return { expected: 0, rung: 0, late: 0, missed: 0, unexplained: 0, doubled: 0 };
}
