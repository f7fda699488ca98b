import { ACCESS_ATTACKS } from "./access-attacks.ts";
import { AGENT_ATTACKS } from "./agent-attacks.ts";
import { type AttackWorld, inAttackWorld } from "./attack-world.ts";
import { BROWSER_ATTACKS } from "./browser-attacks.ts";
import { CLOUD_ATTACKS } from "./cloud-attacks.ts";
import { LOG_IN_ATTACKS } from "./log-in-attacks.ts";
import { OUTBOUND_ATTACKS } from "./outbound-attacks.ts";
import { PLUGIN_ATTACKS } from "./plugin-attacks.ts";

/** One thing that an attacker tries. */
export interface Attack {
  /** Who tries it. */
  by:
    | "stranger"
    | "pupil"
    | "manager of North"
    | "website"
    | "administrator"
    | "owner under attack"
    | "stolen appliance"
    | "plugin";
  what: string;
  /** Resolves with what was answered, and with what the attacker gained, in words: nothing where it holds. */
  run(world: AttackWorld): Promise<{ answered: string; gains: readonly string[] }>;
}

export interface AttackResult {
  by: string;
  what: string;
  answered: string;
  gains: readonly string[];
}

const ATTACKS: readonly Attack[] = [
  ...[...ACCESS_ATTACKS, ...LOG_IN_ATTACKS, ...BROWSER_ATTACKS, ...OUTBOUND_ATTACKS],
  ...[...CLOUD_ATTACKS, ...PLUGIN_ATTACKS, ...AGENT_ATTACKS],
];

/** Tries the attacks whose description contains one of `words` on a daemon that serves two schools. */
export async function attackDaemon(words: readonly string[], say: (progress: string) => void): Promise<AttackResult[]> {
  return inAttackWorld(async (world) => {
    const results: AttackResult[] = [];
    for (const { by, what, run } of ATTACKS) {
      if (!words.some((word) => what.includes(word))) continue;
      const { answered, gains } = await run(world);
      results.push({ by, what, answered, gains });
      say(`${gains.length === 0 ? "held  " : "GAINED"} ${by}: ${what}: ${answered} ${gains.join("; ")}`);
    }
    const { exitCode, signalCode } = world.daemon.child;
    if (exitCode !== null || signalCode !== null)
      results.push({ by: "all", what: "the daemon keeps running", answered: `exit ${exitCode}`, gains: ["it ended"] });
    return results;
  });
}

/** Rows for people: who tried what, what was answered, what it brought. */
export function attackTable(results: readonly AttackResult[]): string {
  return results
    .map(({ by, what, answered, gains }) => `| ${by} | ${what} | ${answered} | ${gains.join("; ") || "nothing"} |`)
    .join("\n");
}
