import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { writeBenchmarkTable } from "../support/benchmark-tables.ts";
import type { BenchmarkFigure, BenchmarkRow } from "./benchmark-row.ts";

/** A row of the table with what was measured. */
export interface MeasuredRow extends Pick<BenchmarkRow, "number" | "name"> {
  figures: readonly BenchmarkFigure[];
}

/** Measured rows as a Markdown table, one line a figure. */
export function resultsTable(results: readonly MeasuredRow[]): string {
  const lines = results.flatMap(({ number, name, figures }) =>
    figures.map((figure) => {
      const against = `${rounded(figure.limit)} ${figure.unit} (${figure.against})`;
      const ours = `${rounded(figure.ours)} ${figure.unit}`;
      const verdict = figure.met ? "met" : "missed";
      return `| ${number} | ${name}: ${figure.what} | ${ours} | ${against} | ${rounded(figure.ratio)} | ${figure.goal} | ${verdict} |`;
    }),
  );
  return ["| # | Path | Ours | Limit, same run | Ratio | Goal | |", "|---|---|---|---|---|---|---|", ...lines].join(
    "\n",
  );
}

/**
 * Keeps the figures as JSON and puts the table of all that were ever kept into docs/. Run from the repository's root.
 */
export function writeResults(results: readonly MeasuredRow[]): void {
  const machine = { node: process.version, cores: availableParallelism(), memoryGiB: Math.round(totalmem() / 2 ** 30) };
  const folder = join(process.cwd(), "test/bench/results");
  mkdirSync(folder, { recursive: true });
  for (const { number, name, figures } of results) {
    const record = { number, name, machine, figures };
    const file = join(folder, `row-${String(number).padStart(2, "0")}.json`);
    writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`);
  }
  const kept = readdirSync(folder)
    .sort()
    .map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as MeasuredRow);
  const words = `Node ${machine.node}, ${machine.cores} cores, ${machine.memoryGiB} GiB; medians of interleaved rounds.`;
  writeBenchmarkTable("bench", `${words}\n\n${resultsTable(kept)}`);
}

function rounded(value: number): string {
  if (!Number.isFinite(value)) return "none";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en", { maximumFractionDigits: digits, useGrouping: true });
}
