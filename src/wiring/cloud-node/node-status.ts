/** What a node of a cloud does before it acts: it is ready to take over, takes over, or has something to do first. */
export type NodeStatus = { doing: "stands-by" | "begins" } | NodeProgress;

/** Work that may take long, and how much of it is done. */
export interface NodeProgress {
  doing: keyof typeof PHASE_LABELS;
  done: number;
  of: number;
}

const PHASE_LABELS = {
  "brings-files": "Brings its files to the organisation's database",
  "brings-rows": "Brings its rows to the organisation's database",
  "takes-rows": "Takes a copy of the organisation's rows",
  "takes-files": "Takes a copy of the organisation's files",
  compares: "Compares its copy with the organisation's database",
} as const;

/** For people. */
export function describeProgress({ doing, done, of }: NodeProgress): string {
  return `${PHASE_LABELS[doing]}: ${done} of ${of}.`;
}

/** The line on stdout that says so. */
export function progressLine({ doing, done, of }: NodeProgress, pid: number): string {
  return JSON.stringify({ event: "starting", doing, done, of, pid });
}

/** What such a line says; null for any other one. */
export function parseProgressLine(line: string): NodeProgress | null {
  const found = /^\{"event":"starting","doing":"([a-z-]+)","done":(\d+),"of":(\d+),/.exec(line);
  const doing = found?.[1] ?? "";
  return found && doing in PHASE_LABELS
    ? { doing: doing as NodeProgress["doing"], done: Number(found[2]), of: Number(found[3]) }
    : null;
}
