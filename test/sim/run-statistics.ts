/** What happened in a run, or in many. */
export interface RunStatistics {
  cuts: number;
  crashes: number;
  resyncs: number;
  siteRestores: number;
  cloudRestores: number;
  diskErrors: number;
  floorJumps: number;
  commands: number;
  cancels: number;
  orders: number;
  sounded: number;
  localSends: number;
  edits: number;
  publications: number;
  mismatches: number;
  frames: number;
  gaps: number;
  garbled: number;
  files: number;
  marks: number;
  onDisk: number;
  onPostgres: number;
  /** Connections to the database that broke. */
  broken: number;
  /** Nodes that were cut off from it, and another one took their place. */
  takeovers: number;
  /** What was refused since the database could not be reached, or with an unknown outcome. */
  refused: number;
}

/** Nothing happened. */
export function emptyStatistics(): RunStatistics {
  return {
    cuts: 0,
    crashes: 0,
    resyncs: 0,
    siteRestores: 0,
    cloudRestores: 0,
    diskErrors: 0,
    floorJumps: 0,
    commands: 0,
    cancels: 0,
    orders: 0,
    sounded: 0,
    localSends: 0,
    edits: 0,
    publications: 0,
    mismatches: 0,
    frames: 0,
    gaps: 0,
    garbled: 0,
    files: 0,
    marks: 0,
    onDisk: 0,
    onPostgres: 0,
    broken: 0,
    takeovers: 0,
    refused: 0,
  };
}

/** Adds one run to many. */
export function addStatistics(to: RunStatistics, more: RunStatistics): void {
  for (const name of Object.keys(more) as (keyof RunStatistics)[]) to[name] += more[name];
}
