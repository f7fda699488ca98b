import { describe, expect, it } from "vitest";
import { toOccurrence } from "../../../src/bells/plan-source.ts";
import type { BellStore, PlanSource } from "../../../src/bells/planner.ts";
import {
  type CompiledSchedule,
  compileSchedule,
  expandCompiledSchedule,
  type RingListTimes,
  type RingSchedule,
  type ScheduleException,
} from "../../../src/bells/schedule-expansion.ts";
import { DAY_MS } from "../../../src/lib/durations.ts";
import { derivedId } from "../../../src/lib/ids.ts";
import type { Transaction } from "../../../src/store/store.ts";
import { type ClockRules, createTimeZones, DEFAULT_CLOCK_RULES } from "../../../src/time-zones/time-zones.ts";
import { machineZoneData } from "../../../src/time-zones/zone-data.ts";
import {
  type BellCertificate,
  type BellSimulationOptions,
  type FaultInjection,
  simulateBells,
} from "../../../src/tools/bell-simulation/simulation.ts";

const zones = createTimeZones(machineZoneData());
const at = (text: string): number => Date.parse(text);

/** Lists 0 and 1 ring by day, 2 where clocks change. */
const LISTS: RingListTimes[] = [
  ["08:00:00", "12:00:00"],
  ["09:00:00", "13:00:00"],
  ["01:30:00", "02:30:00"],
].map((times, list) => ({
  id: String(list),
  entries: times.map((time) => {
    return { id: `${list}-${time}`, time, messageTemplateId: "m", deviceGroupIds: [], distributionListIds: [] };
  }),
}));
const EXCEPTIONS: ScheduleException[] = [
  { startDate: "2026-11-11", endDate: "2026-11-12", ringListId: null, ringListChanges: [] },
  { startDate: "2026-12-28", endDate: "2026-12-30", ringListId: "1", ringListChanges: ["delay 60"] },
];

const weekly = (id: string, timeZone: string, weeks: readonly (string | null)[][]): RingSchedule => ({
  ...{ id, timeZone, startDate: "2026-10-01", endDate: "2027-04-30", numWeeks: weeks.length },
  entries: weeks.flatMap((days, week) => days.map((ringListId, day) => ({ entryNum: week * 7 + day, ringListId }))),
});
const school = (list: string): (string | null)[] => [list, list, list, list, list, null, null];
const SCHEDULES: RingSchedule[] = [
  weekly("0", "America/New_York", [["2", "2", "2", "2", "2", "2", "2"]]),
  weekly("1", "Europe/Berlin", [school("0"), school("1")]),
  weekly("2", "Australia/Lord_Howe", [["2", "2", "2", "2", "2", "2", "2"]]),
];
/** On a Sunday, Berlin moves to New York. */
const MOVED: RingSchedule = { ...weekly("1", "America/New_York", [school("0"), school("1")]) };
const MOVES_AT = at("2026-12-06T12:00:00Z");

const compile = (
  schedule: RingSchedule,
  exceptions: readonly ScheduleException[] = EXCEPTIONS,
  rules?: ClockRules,
): CompiledSchedule => compileSchedule(schedule, LISTS, exceptions, { zones, ...(rules ? { rules } : {}) });

const certify = (plant?: FaultInjection, more: Partial<BellSimulationOptions> = {}): Promise<BellCertificate> =>
  simulateBells({
    schedules: SCHEDULES.map((schedule) => compile(schedule)),
    ...{ fromMs: at("2026-10-20T00:00:00Z"), toMs: at("2027-01-20T00:00:00Z"), seed: 5 },
    ...{ restarts: 150, steps: 60, suspends: 20 },
    changes: [{ atMs: MOVES_AT, owner: 1, after: compile(MOVED) }],
    ...(plant ? { plant } : {}),
    ...more,
  });

/** A source that reads schedules in another way than it should; the moved one as the others. */
const reading = (read: (schedule: RingSchedule) => CompiledSchedule, forgetsMove = false): FaultInjection => ({
  source: (source): PlanSource => ({
    owners: source.owners,
    occurrences(_reader, _kind, owner, from, to) {
      const moved = owner === "1" && from >= MOVES_AT - 2 * DAY_MS && !forgetsMove;
      return expandCompiledSchedule(read(moved ? MOVED : (SCHEDULES[Number(owner)] as RingSchedule)), from, to).map(
        toOccurrence,
      );
    },
  }),
});

const withRules = (rules: Partial<ClockRules>): FaultInjection =>
  reading((schedule) => compile(schedule, EXCEPTIONS, { ...DEFAULT_CLOCK_RULES, ...rules }));

/** Lets every write say other SQL. */
const rewriting = (rewrite: (sql: string, tx: Transaction) => string): FaultInjection => ({
  store: (store): BellStore => ({
    ...store,
    write: (fn, lane) =>
      store.write((tx) => {
        const run: Transaction["run"] = (sql, ...params) => tx.run(rewrite(sql, tx), ...params);
        return fn(Object.assign(Object.create(tx), { run }));
      }, lane),
  }),
});

/** What a crash leaves when the sound comes before the commit: at the next start, the ring seems to wait still. */
const startedLater = rewriting((sql, tx) => {
  if (sql.startsWith("UPDATE bell_plans SET stale = 1 WHERE made"))
    tx.run("UPDATE bell_rings SET state = 'armed' WHERE state = 'started'");
  return sql;
});

const PLANTED: readonly (readonly [string, FaultInjection, Partial<BellSimulationOptions>?])[] = [
  ["the second of two equal local times", withRules({ fold: "second" })],
  [
    "skips a time in a DST gap",
    withRules({ gap: "skip" }),
    { fromMs: at("2027-02-20T00:00:00Z"), toMs: at("2027-04-20T00:00:00Z"), changes: [] },
  ],
  [
    "uses a ring key without the date",
    {
      source: (source) => ({
        ...source,
        occurrences: (...args) =>
          source
            .occurrences(...args)
            .map((ring) => ({ ...ring, id: derivedId(args[2], ring.entryId ?? ""), localDate: "" })),
      }),
    },
  ],
  ["started is written after the sound", startedLater, { restarts: 900 }],
  [
    "restarts the cycle with the year",
    reading((schedule) => {
      const [before, after] = [compile(schedule), compile({ ...schedule, startDate: "2027-01-01" })];
      const newYear = Math.floor(at("2027-01-01T00:00:00Z") / DAY_MS);
      return { ...before, listOn: (day) => (day < newYear ? before : after).listOn(day) };
    }),
  ],
  [
    "rings on the last day of a silent exception",
    reading((schedule) =>
      compile(
        schedule,
        EXCEPTIONS.map((each) => ({ ...each, endDate: each.startDate })),
      ),
    ),
  ],
  ["a plan forgets that its zone has changed", reading((schedule) => compile(schedule), true)],
  [
    "rings again after a clock step backward",
    rewriting((sql) => sql.replace("state = 'missed' AND asked = 0", "state IN ('missed', 'rung', 'late')")),
  ],
  ["what is missed leaves no record", { port: (port) => ({ ...port, recordMissed: () => undefined }) }],
];

describe("certify", () => {
  it("finds no error in three months with 150 restarts, 60 clock steps and 20 suspends", async () => {
    const { all, findings, restarts } = await certify();
    expect(findings).toEqual([]);
    expect(all).toMatchObject({ unexplained: 0, doubled: 0 });
    expect(all.rung + all.late + all.missed).toBe(all.expected);
    expect(all.expected).toBeGreaterThan(400);
    expect(restarts).toBe(150);
  });

  it.each(PLANTED.map(([bug, plant, more]) => ({ bug, plant, more })))(
    "detects the planted bug: $bug",
    async ({ plant, more }) => {
      const { all } = await certify(plant, more);
      expect(all.unexplained + all.doubled).toBeGreaterThan(0);
    },
  );
});
