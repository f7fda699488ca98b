import { loadModuleWithBug } from "../sim/bug-loader.ts";
import type { PlantedBug } from "../sim/planted-bugs.ts";
import type { killAroundBells } from "./failover.ts";

/** Bugs that the failover harness must find. */
export const FAILOVER_BUGS: readonly PlantedBug[] = [
  {
    name: "evidence-ignored",
    file: "src/failover/duty.ts",
    changes: [
      ['for (const id of starts) recordEvidence(id, "sounding");', ""],
      ['for (const id of ends) recordEvidence(id, "over");', ""],
    ],
  },
  {
    name: "standby-waits-for-ever",
    file: "src/failover/duty.ts",
    changes: [["if (delayMs > 0 && clock.now() < turnAt)", "if (delayMs > 0)"]],
  },
  {
    name: "not-replayed-after-a-loss",
    file: "src/failover/duty.ts",
    changes: [['if (goneMs < delayMs || !membership.isSettled() || deps.isIsolated()) return "wait";', 'return "wait";']],
  },
  {
    name: "an-end-counts-as-silence",
    file: "src/failover/duty.ts",
    changes: [
      [
        "if (began && sounding.delete(key)) over.set(key, { ...began, at: clock.monotonicMs() });",
        "if (began) sounding.delete(key);",
      ],
    ],
  },
  {
    name: "no-settling-after-a-start",
    file: "src/failover/membership.ts",
    changes: [["if (clock.monotonicMs() - awakeSince >= SETTLING_MS) return true;", "if (awakeSince >= 0) return true;"]],
  },
  {
    name: "stall-not-detected",
    file: "src/failover/membership.ts",
    changes: [["if (now - lastTickAt >= STALL_THRESHOLD_MS) awakeSince = now;", ""]],
  },
  {
    name: "no-wait-after-moving-up",
    file: "src/failover/duty.ts",
    changes: [["const turnAt = Math.min(latest, from);", "const turnAt = Math.min(latest, at + delayMs, from);"]],
  },
  {
    name: "no-takeover",
    file: "src/failover/failover.ts",
    changes: [
      [
        "return ringDuty.decide({ id, at, groups: groupsOf(groupIds), part });",
        'return part === null ? ringDuty.decide({ id, at, groups: groupsOf(groupIds) }) : "wait";',
      ],
    ],
  },
  {
    name: "partial-coverage-counts-as-full",
    file: "src/failover/duty.ts",
    changes: [
      ["covers: coversOf([...[...over.values()].filter(({ at }) => at >= before), ...sounding.values()]),", ""],
    ],
  },
  {
    name: "stale-distribution-kept",
    file: "src/failover/failover.ts",
    changes: [
      ["return new Set(isAlsoAlone ? [...keys, ownId] : keys).size > 1;", "return isAlsoAlone && keys.length < 0;"],
    ],
  },
  {
    name: "immediate-failback",
    file: "src/failover/membership.ts",
    changes: [["const FAILBACK_DELAY_MS = 60_000;", "const FAILBACK_DELAY_MS = 0;"]],
  },
];

/** Plants each bug (or the named one) and kills until it is found, at most `kills` times. Returns those not found. */
export async function detectPlantedBugs(
  name: string,
  kills: number,
  seed: number,
  say: (progress: string) => void,
): Promise<{ bugs: number; missed: string[] }> {
  const bugs = FAILOVER_BUGS.filter((bug) => !bug.equivalent && (name === "all" || bug.name === name));
  const missed: string[] = [];
  for (const bug of bugs) {
    const planted = await loadModuleWithBug<{ killAroundBells: typeof killAroundBells }>(
      bug,
      process.cwd(),
      "test/faults/failover.ts",
    );
    const { broken, kills: done } = await planted.killAroundBells(kills, seed, true);
    say(`${bug.name}: ${broken[0] ?? "not caught"} (within ${done} kills)`);
    if (broken.length === 0) missed.push(bug.name);
  }
  return { bugs: bugs.length, missed };
}
