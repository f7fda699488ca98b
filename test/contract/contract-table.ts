import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import type { ServedOperation } from "./served-operations.ts";
import type { TestName } from "./test-runs.ts";

/** An operation with a test that asks for its route. */
export interface ContractRow extends TestName {
  operation: string;
  /** Whether that test was seen to fail without the route, and to get a good answer with it. */
  isProven: boolean;
}

const FILE = "test/contract/routes.tsv";
const HEAD = "operation\ttest file\ttest\tproven";
const BEGIN = "<!-- contract: begin (written by `npm run contract -- --write`) -->";
const END = "<!-- contract: end -->";
/** So many files are named in a line of the README's table. */
const NAMED = 3;

/** The rows as they were last written. Run from the repository's root. */
export function readRows(): ContractRow[] {
  const lines = readFileSync(FILE, "utf8").trimEnd().split("\n").slice(1);
  return lines.map((line) => {
    const [operation = "", file = "", name = "", proven] = line.split("\t");
    return { operation, file, name, isProven: proven === "yes" };
  });
}

/** What is wrong with the rows: operations without one, rows of what nobody serves, and those that prove nothing. */
export function tableErrors(rows: readonly ContractRow[], served: readonly ServedOperation[]): string[] {
  const known = new Set(rows.map(({ operation }) => operation));
  const operations = new Set(served.map(({ operation }) => operation));
  return [
    ...[...operations].filter((each) => !known.has(each)).map((each) => `${each} names no test`),
    ...[...known].filter((each) => !operations.has(each)).map((each) => `${each} is not served`),
    ...rows
      .filter(({ operation }, at) => rows.findIndex((each) => each.operation === operation) !== at)
      .map(({ operation }) => `${operation} stands twice`),
    ...rows
      .filter(({ isProven }) => !isProven)
      .map(({ operation, file, name }) => `${operation} is not proven by ${file} "${name}"`),
  ];
}

/** Writes the rows in the order of what is served, and their sums into the README. */
export function writeRows(rows: readonly ContractRow[], served: readonly ServedOperation[]): void {
  const byOperation = new Map(rows.map((row) => [row.operation, row]));
  const ordered = served.flatMap(({ operation }) => byOperation.get(operation) ?? []);
  const lines = ordered.map(
    ({ operation, file, name, isProven }) => `${operation}\t${file}\t${name}\t${isProven ? "yes" : "no"}`,
  );
  writeFileSync(FILE, `${[HEAD, ...lines].join("\n")}\n`);
  const readme = readFileSync("README.md", "utf8");
  const [head, rest] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  if (head < 0 || rest < head) throw new Error("README.md has no place for the contract's table");
  writeFileSync(
    "README.md",
    `${readme.slice(0, head) + BEGIN}\n${summaryTable(ordered, served)}\n${readme.slice(rest)}`,
  );
}

/** The README's table: one line for each family, with the test files that hold most of its operations first. */
export function summaryTable(rows: readonly ContractRow[], served: readonly ServedOperation[]): string {
  const groups = [...new Set(served.map(({ group }) => group))].sort();
  const lines = groups.map((group) => {
    const asked = served.filter((each) => each.group === group).map(({ operation }) => operation);
    const own = rows.filter(({ operation }) => asked.includes(operation));
    const families = [...new Set(asked.map((operation) => firstSegment(operation.split(" ")[1] as string)))];
    return `| ${group} | ${families.map((name) => `\`${name}\``).join(" ")} | ${asked.length} | ${own.length} | ${provenCount(own)} | ${filesOf(own)} |`;
  });
  const total = `| **all** | | **${served.length}** | **${rows.length}** | **${provenCount(rows)}** | |`;
  const head = ["| Family | Paths | Operations | With a test | Proven | Where |", "|---|---|---|---|---|---|"];
  return [...head, ...lines, total].join("\n");
}

/** How many rows are proven. */
export function provenCount(rows: readonly ContractRow[]): number {
  return rows.filter(({ isProven }) => isProven).length;
}

/** The first segment of a path that is no version: `users` of `/v1/users/{userId}`. */
export function firstSegment(path: string): string {
  const [, first = "", second = "", third = ""] = path.split("/");
  if (first === "onprem") return third;
  return first === "v1" ? second : first;
}

function filesOf(rows: readonly ContractRow[]): string {
  const counts = new Map<string, number>();
  for (const { file } of rows) counts.set(file, (counts.get(file) ?? 0) + 1);
  const files = [...counts].sort(([a, many], [b, more]) => more - many || (a < b ? -1 : 1)).map(([file]) => file);
  const named = files.slice(0, NAMED).map((file) => `[${basename(file, ".test.ts")}](${file})`);
  return named.join(", ") + (files.length > NAMED ? ` and ${files.length - NAMED} more` : "");
}
