import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { REPOSITORY_ROOT } from "./carillon-process.ts";

/** Writes between `<!-- NAME: begin … -->` and `<!-- NAME: end -->` of docs/benchmarks.md. Throws if the place is missing. */
export function writeBenchmarkTable(name: string, content: string): void {
  const path = resolve(REPOSITORY_ROOT, "docs/benchmarks.md");
  writeFileSync(path, withTable(readFileSync(path, "utf8"), name, content));
}

/** The text with this content between the marks. */
export function withTable(text: string, name: string, content: string): string {
  const begin = new RegExp(`<!-- ${name}: begin[^>]*-->`).exec(text);
  const to = text.indexOf(`<!-- ${name}: end -->`);
  if (!begin || to < begin.index) throw new Error(`docs/benchmarks.md has no place for the table ${name}`);
  return `${text.slice(0, begin.index + begin[0].length)}\n${content}\n${text.slice(to)}`;
}
