/** What is stored of a broadcast that is taken up; times are epoch ms, null where there is none. */
export interface StoredBroadcastState {
  /** First packet; null before the start. */
  t0: number | null;
  /** Last packet. */
  streamEndedAt: number | null;
  /** Length of the sound; null without. */
  programmeMs: number | null;
  notAfter: number;
  emergency: boolean;
}

/**
 * How a broadcast is taken up: `begin` it, `resume` its sound at its place, begin it `again`, give it up as
 * `interrupted`, or only `finish` the rows of one whose sound is over.
 */
export type ResumeDecision = "begin" | "resume" | "again" | "interrupted" | "finish";

/** A rest of sound shorter than this is not worth opening sockets for. own choice */
const MIN_REST_MS = 100;

/** Decides how a broadcast is taken up at the moment `now`. @source broadcast.md, Limits to hold */
export function decideResume(stored: StoredBroadcastState, now: number): ResumeDecision {
  if (stored.streamEndedAt !== null) return "finish";
  const tooLate = now > stored.notAfter ? (stored.emergency ? "again" : "interrupted") : null;
  if (stored.t0 === null || stored.programmeMs === null) return tooLate ?? "begin";
  const restMs = stored.t0 + stored.programmeMs - now;
  if (tooLate === null && restMs >= MIN_REST_MS) return "resume";
  // Nobody knows how much of it was heard: an emergency is rather heard twice than missed.
  return stored.emergency ? "again" : "interrupted";
}
