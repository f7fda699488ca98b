import { DAY_MS } from "../lib/durations.ts";
import { type Sentence, sentence } from "../lib/sentences/sentences.ts";
import releases from "./node-releases.json" with { type: "json" };

/** Last day (ISO date) on which a Node version gets security fixes; null for one that is newer than the table. */
export function nodeEndOfLife(version: string): string | null {
  const dates: Partial<Record<string, string>> = releases.endOfLife;
  return dates[version.split(".")[0] ?? ""] ?? null;
}

/** True once the last day on which `version` gets security fixes is over, in UTC. */
export function isNodeUnsupported(version: string, now: number): boolean {
  const end = nodeEndOfLife(version);
  return end !== null && now >= Date.parse(end) + DAY_MS;
}

/** Health reasons of the runtime: yellow once it gets no more security fixes. */
export function nodeSupportReasons(
  version: string,
  now: number,
): { level: "yellow"; code: "node-unsupported"; reason: Sentence }[] {
  if (!isNodeUnsupported(version, now)) return [];
  const reason = sentence("health.node-unsupported", { version, date: nodeEndOfLife(version) ?? "" });
  return [{ level: "yellow", code: "node-unsupported", reason }];
}
