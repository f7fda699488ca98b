import { FAILOVER_BUGS } from "../faults/failover-bugs.ts";
import type { Crew } from "./crew.ts";
import { PLANTED_BUGS, type PlantedBug } from "./planted-bugs.ts";
import { plant } from "./with-bug.ts";

/** What a hunt for planted bugs came to. */
export interface Hunt {
  bugs: number;
  caught: number;
  missed: string[];
  /** Those in which nobody could tell the difference. */
  equivalent: string[];
  /** Most seeds that one of them took. */
  mostSeeds: number;
}

/** The planted bugs of this name, or all of them; those of the failover are found around bells. */
export function bugsNamed(name: string): { bug: PlantedBug; entry: string }[] {
  const all = [
    ...PLANTED_BUGS.map((bug) => ({ bug, entry: "test/sim/world.ts" })),
    ...FAILOVER_BUGS.map((bug) => ({ bug, entry: "test/faults/failover.ts" })),
  ];
  return all.filter(({ bug }) => name === "all" || bug.name === name);
}

/** Plants each bug in turn and runs seeds, at most `seeds` of them, until one breaks a promise. */
export async function huntBugs(
  bugs: readonly { bug: PlantedBug; entry: string }[],
  { first, seeds, steps }: { first: number; seeds: number; steps: number },
  crew: Crew,
  say: (progress: string) => void,
): Promise<Hunt> {
  const hunt: Hunt = { bugs: bugs.length, caught: 0, missed: [], equivalent: [], mostSeeds: 0 };
  for (const { bug, entry } of bugs) {
    if (bug.equivalent) {
      hunt.equivalent.push(bug.name);
      say(`${bug.name}: no different: ${bug.equivalent}`);
      continue;
    }
    const { module, remove } = await plant(bug, process.cwd(), entry);
    const of = { steps, isOnDisk: false, planted: module };
    const tasks = Array.from({ length: seeds }, (_, at) => ({ ...of, seed: first + at }));
    let found: string | null = null;
    await crew.inOrder(tasks, ({ seed }, { violation }) => {
      if (violation === null) return true;
      const needed = seed - first + 1;
      hunt.mostSeeds = Math.max(hunt.mostSeeds, needed);
      found = `caught after ${needed}: ${violation.split("\n")[0]}`;
      return false;
    });
    remove();
    say(`${bug.name}: ${found ?? "not caught"}`);
    if (found) hunt.caught += 1;
    else hunt.missed.push(bug.name);
  }
  return hunt;
}
