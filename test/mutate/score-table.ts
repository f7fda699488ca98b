import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { writeBenchmarkTable } from "../support/benchmark-tables.ts";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";
import type { Mutant } from "./mutants.ts";
import { SURVIVOR_REASONS } from "./survivor-reasons.ts";

/** How many mutants of a module its tests noticed. */
export interface MutationScore {
  name: string;
  /** Mutants that exist in the module; those that ran are a sample of them. */
  total: number;
  killed: number;
  survivors: Pick<Mutant, "file" | "line" | "change">[];
}

/**
 * The noticed mutants as a share, between 0 and 1, of those that change what the source does: survivors whose reason says
 * `equivalent` can't be noticed.
 */
export function shareOf({ killed, survivors }: Pick<MutationScore, "killed" | "survivors">): number {
  const noticeable = survivors.filter((mutant) => !reasonOf(mutant).startsWith("equivalent"));
  return killed / Math.max(1, killed + noticeable.length);
}

function reasonOf({ file, change }: Pick<Mutant, "file" | "change">): string {
  return SURVIVOR_REASONS[`${file}: ${change}`] ?? "no test yet";
}

/** Stores each score as JSON and writes the table of all stored scores into docs/benchmarks.md. */
export function writeScores(scores: readonly MutationScore[]): void {
  const folder = resolve(REPOSITORY_ROOT, "test/mutate/results");
  mkdirSync(folder, { recursive: true });
  for (const { name, total, killed, survivors } of scores) {
    const left = survivors.map(({ file, line, change }) => ({ file, line, change }));
    const text = JSON.stringify({ name, total, killed, survivors: left }, null, 2);
    writeFileSync(resolve(folder, `${name}.json`), `${text}\n`);
  }
  const stored = readdirSync(folder)
    .sort()
    .map((file) => JSON.parse(readFileSync(resolve(folder, file), "utf8")) as MutationScore);
  writeBenchmarkTable("mutation", scoreTable(stored));
}

/** The scores as Markdown: a table, then each survivor with the reason why no test notices it. */
function scoreTable(scores: readonly MutationScore[]): string {
  const rows = scores.map((score) => {
    const ran = score.killed + score.survivors.length;
    const share = `${(100 * shareOf(score)).toFixed(0)} %`;
    return `| ${score.name} | ${ran} of ${score.total} | ${score.killed} | ${score.survivors.length} | ${share} |`;
  });
  const survivors = scores.flatMap((score) =>
    score.survivors.map((mutant) => {
      const change = mutant.change.replaceAll("`", "'");
      return `- \`${mutant.file}:${mutant.line}\`: \`${change}\`: ${reasonOf(mutant)}`;
    }),
  );
  const header = ["| Module | Mutants run | Noticed | Survived | Score |", "|---|---|---|---|---|"];
  return [...header, ...rows, ...(survivors.length > 0 ? ["", "Survivors:", "", ...survivors] : [])].join("\n");
}
