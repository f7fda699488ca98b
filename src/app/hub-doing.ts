/** What a node of a cloud does before it acts: it is ready to take over, takes over, or has something to do first. */
export type NodeDoing = { doing: "stands-by" | "begins" } | NodeWork;

/** Work that may take long, and how much of it is done. */
export interface NodeWork {
  doing: keyof typeof WORDS;
  done: number;
  of: number;
}

const WORDS = {
  "brings-files": "Brings its files to the organisation's database",
  "brings-rows": "Brings its rows to the organisation's database",
  "takes-rows": "Takes a copy of the organisation's rows",
  "takes-files": "Takes a copy of the organisation's files",
  compares: "Compares its copy with the organisation's database",
} as const;

/** For people. */
export function wordsOf({ doing, done, of }: NodeWork): string {
  return `${WORDS[doing]}: ${done} of ${of}.`;
}

/** The line on stdout that says so. */
export function lineOf({ doing, done, of }: NodeWork, pid: number): string {
  return JSON.stringify({ event: "starting", doing, done, of, pid });
}

/** What such a line says; null for any other one. */
export function workIn(line: string): NodeWork | null {
  const found = /^\{"event":"starting","doing":"([a-z-]+)","done":(\d+),"of":(\d+),/.exec(line);
  const doing = found?.[1] ?? "";
  return found && doing in WORDS
    ? { doing: doing as NodeWork["doing"], done: Number(found[2]), of: Number(found[3]) }
    : null;
}
