/** State of a cloud node before it is the leader: standby, becoming the leader, or in long work before that. */
export type NodeStatus = { doing: "stands-by" | "begins" } | NodeProgress;

/** Long work and its progress. */
export interface NodeProgress {
  doing: keyof typeof PHASE_LABELS;
  done: number;
  of: number;
}

const PHASE_LABELS = {
  "brings-files": "Uploading files to the database",
  "brings-rows": "Uploading rows to the database",
  "takes-rows": "Replicating rows from the database",
  "takes-files": "Replicating files from the database",
  compares: "Verifying the replica against the database",
} as const;

export function describeProgress({ doing, done, of }: NodeProgress): string {
  return `${PHASE_LABELS[doing]}: ${done} of ${of}.`;
}

/** Progress as a JSON line for stdout. */
export function progressLine({ doing, done, of }: NodeProgress, pid: number): string {
  return JSON.stringify({ event: "starting", doing, done, of, pid });
}

/** Parses such a line; null for any other line. */
export function parseProgressLine(line: string): NodeProgress | null {
  const found = /^\{"event":"starting","doing":"([a-z-]+)","done":(\d+),"of":(\d+),/.exec(line);
  const doing = found?.[1] ?? "";
  return found && doing in PHASE_LABELS
    ? { doing: doing as NodeProgress["doing"], done: Number(found[2]), of: Number(found[3]) }
    : null;
}
